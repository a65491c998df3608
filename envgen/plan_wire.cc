#include <cstring>

#include "envgen/plan.h"

namespace envgen {
namespace {

constexpr std::uint32_t kMagic = 0x316c7054;  // "Tpl1"

class Encoder {
 public:
  void number(std::uint32_t value) { raw(value, 4); }
  void time(std::int64_t value) { raw(static_cast<std::uint64_t>(value), 8); }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  std::string take() && { return std::move(bytes_); }

 private:
  void raw(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  std::string bytes_;
};

// Reads as long as all is well; afterwards every read gives nothing.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  std::uint32_t number() { return static_cast<std::uint32_t>(raw(4)); }
  std::int64_t time() { return static_cast<std::int64_t>(raw(8)); }
  std::string text() {
    std::uint32_t size = number();
    if (size > bytes_.size()) ok_ = false;
    if (!ok_) return {};
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  // The count of a list whose items take at least `least` bytes each.
  std::uint32_t count(std::size_t least) {
    std::uint32_t value = number();
    if (value > bytes_.size() / least) ok_ = false;
    return ok_ ? value : 0;
  }
  std::uint8_t choice(std::uint8_t last) {
    std::uint32_t value = number();
    if (value > last) ok_ = false;
    return ok_ ? static_cast<std::uint8_t>(value) : 0;
  }
  [[nodiscard]] bool finished() const { return ok_ && bytes_.empty(); }

 private:
  std::uint64_t raw(std::size_t size) {
    if (size > bytes_.size()) ok_ = false;
    if (!ok_) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    }
    bytes_.remove_prefix(size);
    return value;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

void put(Encoder& out, const std::vector<std::string>& list) {
  out.number(static_cast<std::uint32_t>(list.size()));
  for (const std::string& item : list) out.text(item);
}

std::vector<std::string> get_texts(Decoder& in) {
  std::vector<std::string> list(in.count(4));
  for (std::string& item : list) item = in.text();
  return list;
}

void put(Encoder& out, const Process& process) {
  out.text(process.name);
  out.number(static_cast<std::uint32_t>(process.rank));
  out.number(static_cast<std::uint32_t>(process.device));
  put(out, process.argv);
  out.text(process.cwd);
  out.number(static_cast<std::uint32_t>(process.env.size()));
  for (const EnvEdit& edit : process.env) {
    out.number(static_cast<std::uint32_t>(edit.kind));
    out.text(edit.name);
    out.text(edit.value);
  }
  out.text(process.log);
  out.text(process.env_file);
}

Process get_process(Decoder& in) {
  Process process;
  process.name = in.text();
  process.rank = static_cast<int>(in.number());
  process.device = static_cast<int>(in.number());
  process.argv = get_texts(in);
  process.cwd = in.text();
  process.env.resize(in.count(12));
  for (EnvEdit& edit : process.env) {
    edit.kind = static_cast<EnvEdit::Kind>(
        in.choice(static_cast<std::uint8_t>(EnvEdit::Kind::kPrependPath)));
    edit.name = in.text();
    edit.value = in.text();
  }
  process.log = in.text();
  process.env_file = in.text();
  return process;
}

}  // namespace

std::string encode_plan(const Plan& plan) {
  Encoder out;
  out.number(kMagic);
  out.text(plan.platform);
  out.text(plan.platform_reason);
  out.text(plan.framework);
  out.number(plan.self ? static_cast<std::uint32_t>(plan.self->node_rank) : 0);
  out.text(plan.self ? plan.self->reason : "");
  out.number(static_cast<std::uint32_t>(plan.node_count));
  out.number(static_cast<std::uint32_t>(plan.world_size));
  out.number(static_cast<std::uint32_t>(plan.policy.success));
  out.time(plan.policy.grace_ms);
  out.time(plan.policy.rank_table_timeout_ms);
  out.time(plan.policy.hold_ms);
  out.number(static_cast<std::uint32_t>(plan.processes.size()));
  for (const Process& process : plan.processes) put(out, process);
  put(out, plan.warnings);
  return std::move(out).take();
}

Result<Plan> decode_plan(std::string_view bytes) {
  Decoder in(bytes);
  Plan plan;
  bool ours = in.number() == kMagic;
  plan.platform = in.text();
  plan.platform_reason = in.text();
  plan.framework = in.text();
  Self self;
  self.node_rank = static_cast<int>(in.number());
  self.reason = in.text();
  plan.self = self;
  plan.node_count = static_cast<int>(in.number());
  plan.world_size = static_cast<int>(in.number());
  plan.policy.success = static_cast<Success>(in.choice(static_cast<std::uint8_t>(Success::kServe)));
  plan.policy.grace_ms = in.time();
  plan.policy.rank_table_timeout_ms = in.time();
  plan.policy.hold_ms = in.time();
  plan.processes.resize(in.count(36));
  for (Process& process : plan.processes) process = get_process(in);
  plan.warnings = get_texts(in);
  bool runnable = true;
  for (const Process& process : plan.processes) runnable = runnable && !process.argv.empty();
  if (!ours || !in.finished() || !runnable) {
    return fail("receiving the plan", "the resolver", "a damaged plan",
                "this is a defect of trainit: report it with `trainit snapshot`");
  }
  return plan;
}

}  // namespace envgen
