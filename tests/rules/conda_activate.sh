#!/bin/sh
# `conda activate PREFIX` step by step, as conda documents its activation: what a shell that has run
# the steps exports is printed by `env -0`. The tests compare it with what trainit's job gets.
#
#   conda_activate.sh PREFIX ROOT VARIABLES
#
# VARIABLES is sourced: it calls `variable NAME VALUE` for each variable of the environment, in the
# order of env_vars.d, then those of conda-meta/state; `dropped NAME` for one that is ***unset***.

prefix=$1
root=$2
variables=$3
level=${CONDA_SHLVL:-0}
old=${CONDA_PREFIX-}

# Every element of PATH as os.path.normpath gives it (no ".." in the tests).
normal() {
  if [ -z "$1" ]; then
    printf '.'
  else
    printf '%s' "$1" | sed -e 's,//*,/,g' -e 's,\(/\.\)*\(/\|$\),\2,g' -e 's,\(.\)/$,\1,'
  fi
}

# Without its last element a list has no final colon: one is added, so that each element ends.
new_path() { # LEFT_BIN NEW_BIN
  rest="${PATH-/usr/bin}:"
  result=
  placed=
  while [ -n "$rest" ]; do
    element=$(normal "${rest%%:*}")
    rest=${rest#*:}
    if [ -n "$1" ] && [ -z "$placed" ] && [ "$element" = "$1" ]; then
      element=$2
      placed=yes
    fi
    result="$result:$element"
  done
  result=${result#:}
  if [ -z "$placed" ]; then result="$2:$result"; fi
}

has_condabin() {
  case ":$PATH:" in
    *condabin:*) return 0 ;;
  esac
  return 1
}

name_of() {
  if [ "$1" = "$root" ]; then
    printf base
  elif [ "$(basename "$(dirname "$1")")" = envs ]; then
    basename "$1"
  else
    printf '%s' "$1"
  fi
}

run_scripts() { # DIRECTORY, forwards
  for script in "$1"/*.sh; do
    # shellcheck disable=SC1090
    if [ -e "$script" ]; then . "$script"; fi
  done
}

run_scripts_backwards() {
  directory=$1
  set --
  for script in "$directory"/*.sh; do set -- "$script" "$@"; done
  for script in "$@"; do
    # shellcheck disable=SC1090
    if [ -e "$script" ]; then . "$script"; fi
  done
}

# What there is before anything is sourced or exported is what gets saved.
names=
dropped() { eval "wanted_$1="; }
variable() {
  names="$names $1"
  eval "wanted_$1=yes value_$1=\$2 had_$1=\${$1+yes} before_$1=\${$1-}"
}
export_variables() {
  for name in $names; do
    eval "wanted=\$wanted_$name had=\$had_$name"
    if [ "$wanted" ]; then eval "export $name=\"\$value_$name\""; fi
    if [ "$wanted" ] && [ "$had" ]; then
      eval "export __CONDA_SHLVL_${level}_$name=\"\$before_$name\""
    fi
  done
}

export_conda() {
  export CONDA_EXE="$root/bin/conda" _CE_M="" _CE_CONDA="" CONDA_PYTHON_EXE="$root/bin/python"
}

if [ "$level" -gt 0 ] && [ "$old" = "$prefix" ]; then
  new_path "$prefix/bin" "$prefix/bin"
  modifier="(${CONDA_DEFAULT_ENV-$(name_of "$prefix")}) "
  run_scripts_backwards "$prefix/etc/conda/deactivate.d"
  export PATH="$result" CONDA_SHLVL="$level" CONDA_PROMPT_MODIFIER="$modifier"
  export_conda
else
  if [ "$level" -eq 0 ]; then
    if ! has_condabin; then PATH="$root/condabin:$PATH"; fi
    new_path "" "$prefix/bin"
  else
    new_path "${old:+$old/bin}" "$prefix/bin"
  fi
  # shellcheck disable=SC1090
  . "$variables"
  name=$(name_of "$prefix")
  if [ "$level" -gt 0 ]; then run_scripts_backwards "$old/etc/conda/deactivate.d"; fi
  export PATH="$result" CONDA_PREFIX="$prefix" CONDA_SHLVL=$((level + 1))
  export CONDA_DEFAULT_ENV="$name" CONDA_PROMPT_MODIFIER="($name) "
  export_variables
  if [ "$level" -gt 0 ]; then export "CONDA_PREFIX_$level=$old"; fi
  export_conda
fi
run_scripts "$prefix/etc/conda/activate.d"
exec /usr/bin/env -0
