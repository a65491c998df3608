#include "base/xml.h"

#include <tinyxml2.h>

#include <algorithm>

#include "base/text.h"

namespace base::xml {
namespace {

// Returns the name of the error. tinyxml2's full text adds a number and a sentence.
std::string fault_of(const tinyxml2::XMLDocument& document) {
  std::string name = document.ErrorName();
  for (std::string_view prefix : {"XML_ERROR_", "XML_"}) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  std::ranges::replace(name, '_', ' ');
  return lowercased(name);
}

bool copy(const tinyxml2::XMLElement& from, std::size_t depth, Element& to) {
  if (depth > kMaxDepth) return false;
  to.name = from.Name();
  for (const auto* one = from.FirstAttribute(); one != nullptr; one = one->Next()) {
    to.attributes.emplace_back(one->Name(), one->Value());
  }
  for (const auto* node = from.FirstChild(); node != nullptr; node = node->NextSibling()) {
    if (const auto* text = node->ToText()) {
      to.text += text->Value();
    } else if (const auto* element = node->ToElement()) {
      if (!copy(*element, depth + 1, to.children.emplace_back())) return false;
    }
  }
  to.text = trimmed(to.text);
  return true;
}

std::string storable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    if (control) c = '?';
  }
  return result;
}

void print(tinyxml2::XMLPrinter& printer, const Element& element) {
  printer.OpenElement(element.name.c_str());
  for (const auto& [name, value] : element.attributes) {
    printer.PushAttribute(name.c_str(), storable(value).c_str());
  }
  if (!element.text.empty()) printer.PushText(storable(element.text).c_str());
  for (const Element& child : element.children) print(printer, child);
  printer.CloseElement();
}

}  // namespace

std::string_view Element::attribute(std::string_view wanted) const {
  for (const auto& [key, value] : attributes) {
    if (key == wanted) return value;
  }
  return {};
}

const Element* Element::child(std::string_view wanted) const {
  const auto found = std::ranges::find(children, wanted, &Element::name);
  return found == children.end() ? nullptr : &*found;
}

std::string_view Element::text_at(std::string_view path) const {
  const Element* element = this;
  while (element != nullptr && !path.empty()) {
    const std::size_t slash = path.find('/');
    element = element->child(path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return element == nullptr ? std::string_view() : std::string_view(element->text);
}

Result<Element> parse(std::string_view document, std::string_view where) {
  auto refuse = [&](const std::string& place, std::string found) {
    return fail("reading XML", std::string(where) + place, std::move(found),
                "give the whole of an XML document");
  };
  if (document.size() > kMaxBytes) return refuse("", std::to_string(document.size()) + " bytes");
  if (document.find('\0') != std::string_view::npos) return refuse("", "a zero byte");
  tinyxml2::XMLDocument parsed;
  parsed.Parse(document.data(), document.size());
  if (parsed.Error()) {
    return refuse(": line " + std::to_string(parsed.ErrorLineNum()), fault_of(parsed));
  }
  const tinyxml2::XMLElement* root = parsed.RootElement();
  if (root == nullptr) return refuse("", "no element");
  Element result;
  if (!copy(*root, 1, result)) {
    return refuse("", "elements nested deeper than " + std::to_string(kMaxDepth));
  }
  return result;
}

std::string write(const Element& root) {
  tinyxml2::XMLPrinter printer;
  printer.PushHeader(false, true);
  print(printer, root);
  return printer.CStr();
}

}  // namespace base::xml
