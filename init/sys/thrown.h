#pragma once
// The text of an exception.

namespace sys {

struct Thrown {
  const char* what;  // the text of the std::exception; a fixed text for any other type
  bool out_of_memory = false;

  // Returns the advice for an error message.
  [[nodiscard]] const char* fix() const {
    return out_of_memory ? "give the container more memory"
                         : "this is a defect of trainit: report it with `trainit snapshot`";
  }
};

// Returns the exception that ends the process, for its terminate handler.
[[nodiscard]] Thrown current_thrown();

}  // namespace sys
