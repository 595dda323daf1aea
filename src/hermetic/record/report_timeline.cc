#include "hermetic/record/report_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "hermetic/record/markup.h"
#include "hermetic/record/report_words.h"

namespace hermetic {
namespace {

constexpr double kWidth = 600;
constexpr double kHeight = 60;
constexpr std::size_t kMostPoints = 300;

struct Point {
  double at = 0;  // seconds since the start
  double value = 0;
};

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

// How many processors were busy, between each sample and the one before.
std::vector<Point> processor_of(const std::vector<Usage>& samples) {
  std::vector<Point> points;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double elapsed = seconds(samples[i].wall_time - samples[i - 1].wall_time);
    const double busy = seconds(samples[i].cpu_time() - samples[i - 1].cpu_time());
    // The last processes to end are counted late: it only looks like less.
    if (elapsed > 0)
      points.push_back({seconds(samples[i].wall_time), std::max(busy / elapsed, 0.0)});
  }
  return points;
}

std::vector<Point> points_of(const std::vector<Usage>& samples, std::uint64_t Usage::*member) {
  std::vector<Point> points;
  points.reserve(samples.size());
  for (const Usage& usage : samples)
    points.push_back({seconds(usage.wall_time), static_cast<double>(usage.*member)});
  return points;
}

double highest(const std::vector<Point>& points) {
  double most = 0;
  for (const Point& point : points) most = std::max(most, point.value);
  return most;
}

// Of neighbours the highest stays: a peak is what one looks for.
std::vector<Point> thinned(const std::vector<Point>& points) {
  if (points.size() <= kMostPoints) return points;
  std::vector<Point> fewer;
  const std::size_t stride = (points.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < points.size(); i += stride) {
    const auto end =
        points.begin() + static_cast<std::ptrdiff_t>(std::min(i + stride, points.size()));
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(i);
    fewer.push_back(*std::max_element(
        begin, end, [](const Point& a, const Point& b) { return a.value < b.value; }));
  }
  return fewer;
}

std::string row(std::string_view name, const std::string& most, const std::vector<Point>& all,
                double end) {
  const std::vector<Point> points = thinned(all);
  const double top = std::max(highest(points), 1e-9);
  std::string curve;
  double first = 0;
  double last = 0;
  for (const Point& point : points) {
    const double x = std::clamp(point.at / end, 0.0, 1.0) * kWidth;
    curve += fmt::format("{}{:.1f} {:.1f}", curve.empty() ? "M" : "L", x,
                         kHeight - point.value / top * (kHeight - 2));
    if (curve.find('L') == std::string::npos) first = x;
    last = x;
  }
  const std::string area =
      fmt::format("{}L{:.1f} {:.0f}L{:.1f} {:.0f}Z", curve, last, kHeight, first, kHeight);
  return fmt::format(
      "<div class=\"row\"><p class=\"label\"><b>{0}</b><span>at most {1}</span></p>"
      "<svg viewBox=\"0 0 {2:.0f} {3:.0f}\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{0} over time, at most {1}\">"
      "<path class=\"area\" d=\"{4}\"/>"
      "<path class=\"curve\" vector-effect=\"non-scaling-stroke\" d=\"{5}\"/></svg></div>\n",
      name, most, kWidth, kHeight, area, curve);
}

}  // namespace

std::string duration_text(std::chrono::microseconds duration) {
  using std::chrono::milliseconds;
  const auto all = std::chrono::duration_cast<milliseconds>(duration).count();
  if (all < 1'000) return fmt::format("{} ms", all);
  if (all < 60'000) return fmt::format("{:.1f} s", static_cast<double>(all / 100) / 10);
  const auto minutes = all / 60'000;
  const auto rest = all % 60'000 / 1'000;
  if (minutes < 60) return fmt::format("{} min {} s", minutes, rest);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string timeline_as_html(const std::vector<Usage>& samples) {
  if (samples.size() < 3) return "";
  const double end = seconds(samples.back().wall_time);
  if (end <= 0) return "";
  const std::vector<Point> processor = processor_of(samples);
  const std::vector<Point> memory = points_of(samples, &Usage::memory_bytes);
  const std::vector<Point> processes = points_of(samples, &Usage::processes);
  std::string text = "<figure class=\"timeline\">\n";
  text += row("Processor", fmt::format("{:.0f} %", highest(processor) * 100), processor, end);
  text += row("Memory", size_text(static_cast<std::uint64_t>(highest(memory))), memory, end);
  text += row("Processes", fmt::format("{:.0f}", highest(processes)), processes, end);
  text += fmt::format("<p class=\"axis\"><span>start</span><span>{}</span></p>\n</figure>\n",
                      duration_text(samples.back().wall_time));
  return text;
}

std::string steps_over_time_as_html(const Report& report, const Redaction& redaction) {
  constexpr std::size_t kMostSteps = 200;
  struct Bar {
    std::chrono::system_clock::time_point begin;
    const ReportStep* step;
  };
  std::vector<Bar> bars;
  for (const ReportStep& step : report.steps)
    if (step.run) bars.push_back({step.run->started, &step});
  if (bars.size() < 2) return "";
  std::stable_sort(bars.begin(), bars.end(),
                   [](const Bar& a, const Bar& b) { return a.begin < b.begin; });
  const auto first = bars.front().begin;
  const auto since = [&](const Bar& bar) {
    return std::chrono::duration<double>(bar.begin - first).count();
  };
  double end = 1e-3;
  for (const Bar& bar : bars)
    end = std::max(end, since(bar) + seconds(bar.step->run->outcome.usage.wall_time));
  std::string text = "<figure class=\"timeline gantt\">\n";
  for (std::size_t i = 0; i < std::min(bars.size(), kMostSteps); ++i) {
    const Bar& bar = bars[i];
    const auto time = bar.step->run->outcome.usage.wall_time;
    // Wide enough to be seen, and never beyond the end.
    const double width = std::clamp(seconds(time) / end * kWidth, 2.0, kWidth);
    const double x = std::clamp(since(bar) / end * kWidth, 0.0, kWidth - width);
    text += fmt::format(
        "<div class=\"row {0}\"><p class=\"label\">{1} <span>{2}</span></p>"
        "<svg viewBox=\"0 0 {3:.0f} 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        "<path class=\"bar\" d=\"M{4:.1f} 1h{5:.1f}v8h-{5:.1f}Z\"/></svg></div>\n",
        to_string(bar.step->verdict), html_code(redaction.clean(bar.step->id)), duration_text(time),
        kWidth, x, width);
  }
  text +=
      fmt::format("<p class=\"axis\"><span>start</span><span>{}</span></p>\n</figure>\n",
                  duration_text(std::chrono::microseconds(static_cast<std::int64_t>(end * 1e6))));
  if (bars.size() > kMostSteps)
    text += fmt::format("<p class=\"soft\">and {} more</p>\n", bars.size() - kMostSteps);
  return text;
}

}  // namespace hermetic
