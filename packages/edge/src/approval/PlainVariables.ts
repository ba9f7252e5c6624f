/**
 * Allowlist of variables that may be set for a program. Data and its lookup.
 *
 * Variables carry options, files to load and code to programs, and each program has its own: `MAKEFLAGS`, `PYTEST_ADDOPTS`,
 * `RIPGREP_CONFIG_PATH`. A variable that is not listed makes a command `opaque`.
 */

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Language, time zone, terminal, color, verbosity, and limits. */
const plain = named(
  "LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER " +
    "LC_TELEPHONE LC_TIME TZ CI NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLORTERM COLUMNS LINES TERM DEBUG LOG_LEVEL NODE_ENV " +
    "NODE_NO_WARNINGS RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR GOMAXPROCS PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED " +
    "PYTHONUTF8 MIX_ENV PORT"
)

/** No path, no space, and nothing that a shell or a recipe would evaluate. A time zone has a slash: `Europe/Berlin`. */
const plainValue = /^[\w.,:@+*=-]*$/
const zone = /^\w[\w+-]*(?:\/\w[\w+-]*)*$/

/** Whether a variable with this value changes how a program prints, and not what it runs or reads. */
export const isPlainVariable = (name: string, value: string): boolean =>
  plain.has(name) && (plainValue.test(value) || (name === "TZ" && zone.test(value)))

/** Names for the variable of a loop. A loop over another name may change a variable of the shell: `path` is `PATH` in zsh. */
const counters = named(
  "a b c d e f g h i j k l m n o p q r s t u v w x y z arg branch dir entry file folder id item key lang line mod module n name num " +
    "package pkg project repo script suite target task test url value version word"
)

/** Whether a loop over a variable of this name changes nothing else. */
export const isLoopVariable = (name: string): boolean => counters.has(name)
