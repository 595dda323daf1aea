// Chromium without a window, told what to do over a pair of pipes: the pages of reports as it shows them.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Chromium {
  #process;
  #folder;
  #next = 1;
  #waiting = new Map();
  #rest = "";
  #session;
  events = [];

  constructor(program) {
    this.#folder = mkdtempSync(join(tmpdir(), "hermetic-chromium-"));
    this.#process = spawn(
      program,
      [
        "--headless=new",
        "--no-sandbox", // which root cannot have; what is shown is ours
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--no-proxy-server",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        `--user-data-dir=${this.#folder}`,
        "--remote-debugging-pipe",
      ],
      {
        stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
        detached: true, // a group of its own, which can be ended as a whole
        env: { ...process.env, HOME: this.#folder },
      },
    );
    this.#process.stdio[4].setEncoding("utf8").on("data", (data) => this.#hear(data));
    this.#process.on("exit", () => {
      for (const [, waiting] of this.#waiting) waiting.reject(new Error("chromium has ended"));
    });
  }

  #hear(data) {
    const messages = (this.#rest + data).split("\0");
    this.#rest = messages.pop();
    for (const text of messages) {
      const message = JSON.parse(text);
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (!waiting) this.events.push(message);
      else if (message.error) waiting.reject(new Error(message.error.message));
      else waiting.resolve(message.result);
    }
  }

  call(method, params = {}) {
    const id = this.#next++;
    const request = { id, method, params, ...(this.#session && { sessionId: this.#session }) };
    this.#process.stdio[3].write(JSON.stringify(request) + "\0");
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  // Shows a file at so many pixels, light or dark. What happened meanwhile is in `events`.
  async open(url, { width, height = 800, dark = false }) {
    if (!this.#session) {
      const { targetId } = await this.call("Target.createTarget", { url: "about:blank" });
      this.#session = (await this.call("Target.attachToTarget", { targetId, flatten: true })).sessionId;
      for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.call(`${domain}.enable`);
    }
    this.events = [];
    await this.call("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
    await this.call("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }],
    });
    await this.call("Page.navigate", { url });
    while (!this.events.some((event) => event.method === "Page.loadEventFired"))
      await new Promise((resolve) => setTimeout(resolve, 20));
  }

  // Works although the page itself may run nothing.
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", {
      expression,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return result.value;
  }

  async screenshot() {
    const { data } = await this.call("Page.captureScreenshot");
    return Buffer.from(data, "base64");
  }

  // Its processes end one after the other, and write to the folder until then.
  async close() {
    const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
    const ended = new Promise((resolve) => this.#process.on("exit", resolve));
    try {
      process.kill(-this.#process.pid, "SIGKILL");
      await ended;
    } catch {
      // it has ended by itself
    }
    for (let left = 50; left > 0; --left) {
      try {
        rmSync(this.#folder, { recursive: true, force: true });
        return;
      } catch {
        await pause(100);
      }
    }
  }
}
