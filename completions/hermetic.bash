# Completion of hermetic for bash. Written by tools/help_pages.
_hermetic() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i
  COMPREPLY=()
  for ((i = 2; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      mapfile -t COMPREPLY < <(compgen -cf -- "$word")
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W 'check diff doctor gate gc key learn plan run shell task verify-evidence help version --help --version' -- "$word")
    return
  fi
  case $previous in
    --why | --policy | --out | --previous | --key | --evidence | --write | --diff | --spec | --except | --root | --root-writable | --allow-unix-socket | --dir | --keep-failed | --events | --samples | --repo | --borrow | --sparse | --lockfile | --wheels | --node-lockfile | --npm-cache | --config | --scratch | --manifest | --metrics | --keep-changes)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return
      ;;
    --color)
      mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$word")
      return
      ;;
    --inside | --act | --step | --sha | --jobs | --timeout | --toolchain | --require | --detector | --unused | --input | --output | --output-file | --output-in-place | --env | --pass-env | --allow-host | --idle-time | --memory | --cpu-time | --processes | --file-size | --open-files | --disk-write | --disk-read-rate | --disk-write-rate | --network-bytes | --cpu-weight | --cpus | --nice | --give-up | --sample-every | --base-sha | --task-id | --seed | --index | --python | --from | --retries)
      :
      return
      ;;
    --backend)
      mapfile -t COMPREPLY < <(compgen -W 'linux model' -- "$word")
      return
      ;;
    --network)
      mapfile -t COMPREPLY < <(compgen -W 'none loopback host' -- "$word")
      return
      ;;
    --identity)
      mapfile -t COMPREPLY < <(compgen -W 'builder root' -- "$word")
      return
      ;;
    --on-violation)
      mapfile -t COMPREPLY < <(compgen -W 'report fail kill' -- "$word")
      return
      ;;
  esac
  case ${COMP_WORDS[1]}:$word in
    help:*) mapfile -t COMPREPLY < <(compgen -W 'check diff doctor gate gc key learn plan run shell task verify-evidence help version' -- "$word") ;;
    check:-*)
      mapfile -t COMPREPLY < <(compgen -W '--why --help' -- "$word")
      ;;
    diff:-*)
      mapfile -t COMPREPLY < <(compgen -W '--json --help' -- "$word")
      ;;
    doctor:-*)
      mapfile -t COMPREPLY < <(compgen -W '--json --color --inside --act --help' -- "$word")
      ;;
    gate:-*)
      mapfile -t COMPREPLY < <(compgen -W '--policy --step --sha --out --jobs --timeout --toolchain --previous --key --require --detector --evidence --json --quiet --help' -- "$word")
      ;;
    gc:-*)
      mapfile -t COMPREPLY < <(compgen -W '--unused --json --help' -- "$word")
      ;;
    key:-*)
      mapfile -t COMPREPLY < <(compgen -W '--help' -- "$word")
      ;;
    learn:-*)
      mapfile -t COMPREPLY < <(compgen -W '--write --again --variables --unproved --diff --backend --json --quiet --help' -- "$word")
      ;;
    plan:-*)
      mapfile -t COMPREPLY < <(compgen -W '--spec --input --except --output --output-file --output-in-place --root --root-writable --toolchain --env --pass-env --network --allow-host --allow-unix-socket --dir --timeout --idle-time --memory --cpu-time --processes --file-size --open-files --disk-write --disk-read-rate --disk-write-rate --network-bytes --cpu-weight --cpus --nice --identity --on-violation --give-up --backend --json --color --help' -- "$word")
      ;;
    run:-*)
      mapfile -t COMPREPLY < <(compgen -W '--spec --input --except --output --output-file --output-in-place --root --root-writable --toolchain --env --pass-env --network --allow-host --allow-unix-socket --dir --timeout --idle-time --memory --cpu-time --processes --file-size --open-files --disk-write --disk-read-rate --disk-write-rate --network-bytes --cpu-weight --cpus --nice --identity --on-violation --give-up --backend --json --keep-failed --explain --events --syslog --evidence --key --prove --usage --by-process --samples --sample-every --dry-run --quiet --help' -- "$word")
      ;;
    shell:-*)
      mapfile -t COMPREPLY < <(compgen -W '--spec --input --except --output --output-file --output-in-place --root --root-writable --toolchain --env --pass-env --network --allow-host --allow-unix-socket --dir --timeout --idle-time --memory --cpu-time --processes --file-size --open-files --disk-write --disk-read-rate --disk-write-rate --network-bytes --cpu-weight --cpus --nice --identity --on-violation --give-up --backend --events --syslog --help' -- "$word")
      ;;
    task:-*)
      mapfile -t COMPREPLY < <(compgen -W '--repo --borrow --sha --base-sha --sparse --task-id --seed --lockfile --wheels --index --python --node-lockfile --npm-cache --config --from --scratch --manifest --metrics --json --keep-changes --evidence --key --events --prove --out --jobs --retries --quiet --input --except --output --output-file --output-in-place --root --root-writable --env --pass-env --network --allow-host --allow-unix-socket --timeout --idle-time --memory --cpu-time --processes --file-size --open-files --disk-write --disk-read-rate --disk-write-rate --network-bytes --cpu-weight --cpus --nice --identity --on-violation --give-up --help' -- "$word")
      ;;
    verify-evidence:-*)
      mapfile -t COMPREPLY < <(compgen -W '--key --json --help' -- "$word")
      ;;
    *)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      ;;
  esac
}
complete -F _hermetic hermetic
