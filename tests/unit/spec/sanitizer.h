// Whether this program is watched by a sanitizer, which takes memory and time of its own.
#pragma once

namespace hermetic {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHasSanitizer = true;
#elif !defined(__has_feature)
inline constexpr bool kHasSanitizer = false;
#elif __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = false;
#endif

}  // namespace hermetic
