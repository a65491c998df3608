#pragma once
// Golden plans: what `trainit plan --json` makes of snapshots, in a form whose differences are
// read. A file beside the tests has one section a plan. The first is whole; those behind it have
// only the members that are not as in the first. What fits stands in one line, arrays of words
// always do, and an environment that an earlier process of the section has is named, not repeated.

#include <string>
#include <vector>

namespace golden {

struct Section {
  std::string title;
  std::string snapshot;  // path of its JSON
  std::string options;   // of `trainit plan`, over the snapshot's own
};

// The output of `trainit ARGUMENTS`, which has to end well.
std::string trainit(const std::string& arguments);

std::string read_file(const std::string& path);
std::string directory();  // of the golden files, with a slash

// Compares the plans of `sections`, below `heading`, with the file FILE.plans; with
// TRAINIT_UPDATE_GOLDEN=1 writes it anew: read the difference before it is committed.
void expect_plans(const std::string& file, const std::string& heading,
                  const std::vector<Section>& sections);

}  // namespace golden
