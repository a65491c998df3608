// What trainit adds to an image, in bytes and in the time of `docker run`. The base image is
// TRAINIT_BENCH_IMAGE, else that of the container tests' PyTorch.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "tests/bench/engine.h"
#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kRounds = 30;
constexpr int kQuickRounds = 5;

// The image's name; empty where there is none.
std::string base_image(const Field& field, Engine* engine, const std::string& said) {
  if (std::string named = variable("TRAINIT_BENCH_IMAGE"); !named.empty()) return named;
  const std::string tar = torch_tar(field.self);
  if (tar.empty()) return "";
  std::string name = engine->image("base");
  measure({"docker", "import", tar, name}, said);
  return name;
}

void prepare_context(const Field& field, const std::string& context) {
  const std::string source = TRAINIT_SOURCE_DIR;
  const std::string said = context + ".said";
  measure({"mkdir", "-p", context + "/build"}, said);
  measure({"cp", field.trainit, context + "/build/trainit"}, said);
  measure({"cp", "-r", source + "/Dockerfile.gpu", source + "/images", source + "/hooks", context},
          said);
  FILE* file = fopen((context + "/Dockerfile").c_str(), "we");
  if (file == nullptr) fail(context);
  fputs("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY build/trainit /usr/local/bin/trainit\n", file);
  if (fclose(file) != 0) fail(context);
}

bool build(const std::string& name, const std::string& base, const std::string& context,
           const std::string& file, const std::string& sshd) {
  // The network is for sshd's packages alone; the classic builder is the one that has no other.
  return runs(
      {"env", "DOCKER_BUILDKIT=0", "docker", "build",
       sshd == "1" ? "--network=host" : "--network=none", "--tag", name, "--file",
       context + "/" + file, "--build-arg=BASE_IMAGE=" + base, "--build-arg=BUILD_IMAGE=" + base,
       "--build-arg=PREBUILT=1", "--build-arg=WITH_SSHD=" + sshd, context},
      context + ".said");
}

double size_of(const std::string& image, const std::string& said) {
  measure({"docker", "image", "inspect", "--format", "{{.Size}}", image}, said);
  return strtod(first_line(said).c_str(), nullptr);
}

struct Way {
  const char* name;
  Words flags;  // docker run's, with the image
  std::vector<double> ms = {};
  std::vector<double> ratios = {};  // to the first way, of the same round
};

void measure_starts(std::vector<Way>* ways, const std::string& said) {
  const int rounds = variable("TRAINIT_BENCH_QUICK") == "1" ? kQuickRounds : kRounds;
  for (int round = -1; round < rounds; ++round) {
    std::vector<double> now(ways->size());
    for (const std::size_t index : shuffled(ways->size())) {
      Words argv = {"docker", "run", "--rm", "--network=none", "--no-healthcheck"};
      const Words& flags = (*ways)[index].flags;
      argv.insert(argv.end(), flags.begin(), flags.end());
      now[index] = measure(argv, said).wall_ms;
    }
    if (round < 0) continue;  // warms up
    for (std::size_t i = 0; i < ways->size(); ++i) {
      (*ways)[i].ms.push_back(now[i]);
      (*ways)[i].ratios.push_back(now[i] / now[0]);
    }
  }
  printf("\n### docker run --rm of /bin/true, %d rounds, each in a random order\n\n", rounds);
  Table table({"start", "median ms", "quartiles", "x no init, of the same round", "quartiles"});
  for (const Way& way : *ways) {
    table.add({way.name, text("%.0f", median(way.ms)),
               text("%.0f-%.0f", quantile(way.ms, 0.25), quantile(way.ms, 0.75)),
               text("%.3f", median(way.ratios)),
               text("%.3f-%.3f", quantile(way.ratios, 0.25), quantile(way.ratios, 0.75))});
  }
  table.print();
}

}  // namespace

void image(const Field& field) {
  puts("## An image with trainit\n");
  Engine engine(field.folder);
  const std::string said = field.folder + "/said";
  if (!engine.missing().empty()) {
    printf("not measured: %s\n\n", engine.missing().c_str());
    return;
  }
  const std::string base = base_image(field, &engine, said);
  if (base.empty()) {
    puts(
        "not measured: no base image; name one by TRAINIT_BENCH_IMAGE, or run make test-all "
        "PART=clusters first\n");
    return;
  }
  const std::string context = field.folder + "/context";
  prepare_context(field, context);
  struct Kind {
    const char* name;
    const char* what;
    const char* file;
    const char* sshd;
  };
  constexpr std::array kKinds{
      Kind{"binary", "COPY trainit", "Dockerfile", "0"},
      Kind{"gpu", "Dockerfile.gpu, WITH_SSHD=0", "Dockerfile.gpu", "0"},
      Kind{"sshd", "Dockerfile.gpu, WITH_SSHD=1", "Dockerfile.gpu", "1"},
  };
  const double base_bytes = size_of(base, said);
  printf("### Bytes added to %.0f MB\n\n", base_bytes / 1e6);
  Table table({"image", "MB more", "x the base image"});
  Words images;
  for (const Kind& kind : kKinds) {
    images.push_back(engine.image(kind.name));
    if (!build(images.back(), base, context, kind.file, kind.sshd)) {
      table.add({kind.what, "not measured: the build failed, as without a network"});
      continue;
    }
    const double bytes = size_of(images.back(), said);
    table.add(
        {kind.what, text("%.2f", (bytes - base_bytes) / 1e6), text("%.4f", bytes / base_bytes)});
  }
  table.print();

  std::vector<Way> ways = {
      {"no init", {"--entrypoint=/bin/true", images[0]}},
      {"docker run --init", {"--init", "--entrypoint=/bin/true", images[0]}},
      {"trainit", {"--entrypoint=trainit", images[0], "--", "/bin/true"}},
      {"trainit, image of Dockerfile.gpu with its hooks",
       {"--entrypoint=trainit", images[1], "--", "/bin/true"}},
  };
  measure_starts(&ways, said);
}

}  // namespace bench
