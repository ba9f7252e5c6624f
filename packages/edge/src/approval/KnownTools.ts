/**
 * Tools of the grant `confined` that run what the project configures, with their harmless options, and their lookup by the words of a command. An
 * allowlist: a tool, an option or an operand that is not listed, or is written in another form, is unknown.
 *
 * Left out: options that name a file of settings, a plugin, a program or code, options that write another file, and options that other options
 * abbreviate.
 *
 * A list of options is one text of words:
 *
 * - `abc`: letters, alone or in a cluster such as `-ab`
 * - `j#`: letters with a number or without, as in `-j` and `-j4`
 * - `d:`: letters with a value, as in `-d1`, `-d 1` and `-abd 1`
 * - `--name`, `-name`: a whole option without a value
 * - `--name=`: the same, or with a value after `=`
 * - `--name:`: an option with a value, after `=` or in the next word
 * - `#`: a number alone, as in `-20`
 *
 * Does not: judge values and operands. They are paths, patterns and names.
 */

/** Options of one program. */
export interface OptionList {
  readonly letters: string
  readonly valued: string
  readonly numbered: string
  readonly hasNumber: boolean
  readonly flags: ReadonlySet<string>
  /** Options that may have a value after `=`. */
  readonly optional: ReadonlySet<string>
  /** Options that have a value. */
  readonly withValue: ReadonlySet<string>
}

const endsWith =
  (end: string) =>
  (word: string): boolean =>
    word.endsWith(end)
const cut = (word: string): string => word.slice(0, -1)

/** Reads a list of options. */
export const optionList = (text: string): OptionList => {
  const words = text.split(" ").filter((word) => word !== "")
  const named = words.filter((word) => word.startsWith("-"))
  const letters = words.filter((word) => !word.startsWith("-") && word !== "#")
  const isPlain = (word: string): boolean => !/[:=#]$/.test(word)
  return {
    letters: letters.filter(isPlain).join(""),
    valued: letters.filter(endsWith(":")).map(cut).join(""),
    numbered: letters.filter(endsWith("#")).map(cut).join(""),
    hasNumber: words.includes("#"),
    flags: new Set(named.filter(isPlain)),
    optional: new Set(named.filter(endsWith("=")).map(cut)),
    withValue: new Set(named.filter(endsWith(":")).map(cut))
  }
}

/** Number of words that a known option takes, its value included; `undefined` if it is unknown. */
const lengthOf = (word: string, list: OptionList): 1 | 2 | undefined => {
  const { flags, hasNumber, letters, numbered, optional, valued, withValue } = list
  if (flags.has(word) || optional.has(word)) return 1
  if (withValue.has(word)) return 2
  const at = word.indexOf("=")
  if (at > 0) {
    const name = word.slice(0, at)
    if (optional.has(name) || withValue.has(name)) return 1
  }
  if (word.startsWith("--")) return undefined
  if (hasNumber && /^-\d+$/.test(word)) return 1
  if (/^-[A-Za-z]\d*$/.test(word) && numbered.includes(word.charAt(1))) return 1
  const cluster = word.slice(1)
  const end = [...cluster].findIndex((letter) => !letters.includes(letter))
  if (end === -1) return 1
  if (!valued.includes(cluster.charAt(end))) return undefined
  return end === cluster.length - 1 ? 2 : 1
}

/** Words of a command after its program, by their use. */
interface ReadWords {
  /** Options without their values. */
  readonly options: ReadonlyArray<string>
  readonly operands: ReadonlyArray<string>
  /** Words after `--`; `undefined` without one. */
  readonly after: ReadonlyArray<string> | undefined
}

/** The words of a command, if every option is known. */
export const readWords = (args: ReadonlyArray<string>, list: OptionList): ReadWords | undefined => {
  const options: Array<string> = []
  const operands: Array<string> = []
  for (let at = 0; at < args.length;) {
    const word = args[at] ?? ""
    if (word === "--") return { options, operands, after: args.slice(at + 1) }
    if (!word.startsWith("-") || word === "-") {
      operands.push(word)
      at++
      continue
    }
    const length = lengthOf(word, list)
    if (length === undefined || at + length > args.length) return undefined
    // A word that begins with `-` may be an option: programs differ in which options take the next word.
    if (length === 2 && args[at + 1]?.startsWith("-") === true) return undefined
    options.push(word)
    at += length
  }
  return { options, operands, after: undefined }
}

/** How a tool is called. */
interface Tool {
  readonly options: OptionList
  /** Options after `--`, which go to a script or a test program. */
  readonly after: OptionList
  /** What each operand looks like. */
  readonly operand: RegExp
  /** What the first operand looks like, where some words are subcommands. */
  readonly first: RegExp
  /** Whether its operands name scripts or targets of the project. */
  readonly runsNames: boolean
  /** Whether a recipe may give each word to a shell. */
  readonly isRecipe: boolean
  /** Options with which the tool rewrites files. They need named files. */
  readonly rewriting: ReadonlySet<string>
}

/** `@file` is a file of options, `+x` another version. */
const anyOperand = /^[^@+]/s
/** Nothing that a shell evaluates, and no `a=b`, which is a variable. */
const plainWord = /^[\w./,:-]+$/
/** A file or a pattern of files, which a subcommand is not. */
const withDot = /[./*]/

const scriptOptions = optionList(
  "vq gt: --check --ci --color --coverage --forceExit --headless --help --no-color --no-coverage --no-watch --noEmit --passWithNoTests --quiet " +
    "--run --runInBand --silent --verbose --version --watch=false --watchAll=false --bail= --grep: --maxWorkers: --testNamePattern: " +
    "--testPathPattern: --testPathPatterns: --reporter=default --reporter=dot --reporter=json --reporter=list --reporter=spec --reporter=verbose"
)
const none = optionList("")

const tool = (text: string, more: Partial<Omit<Tool, "options">> = {}): Tool => ({
  options: optionList(text),
  after: none,
  operand: anyOperand,
  first: anyOperand,
  runsNames: false,
  isRecipe: false,
  rewriting: new Set(),
  ...more
})
const rewriting = (names: string) => ({ rewriting: new Set(names.split(" ")) })
const all = (pattern: RegExp) => ({ operand: pattern, first: pattern })

const recipes = { isRecipe: true, runsNames: true }
/** The name of a script. pnpm reads `/x/` as a pattern of names. */
const scripts = { first: /^\w[\w:.@+-]*$/, runsNames: true }
/** Tasks of Gradle, also in a project: `:core:test`. */
const task =
  /^(?::?[\w-]+:)*(?:test|build|check|assemble|classes|testClasses|compileJava|compileKotlin|compileTestJava|compileTestKotlin|lint)$/
const npm = "s w: --silent --workspace: --workspaces -ws --if-present --include-workspace-root"
const pnpm =
  "rvq Ft: --recursive --filter: --silent --if-present --coverage --run --watch=false --ci --verbose --bail= --runInBand --testNamePattern:"
/** `yarn run` also starts programs of packages, so only usual names of scripts count. */
const yarnScript =
  /^(?:build|check|compile|coverage|format|lint|test|typecheck|type-check|types)(?::[\w:-]+)?$/
const cargo =
  "qvr jpF: --all --workspace --exclude: --package: --lib --bin: --bins --example: --examples --test: --tests --bench: --benches --all-targets " +
  "--doc --no-run --no-fail-fast --release --profile: --features: --all-features --no-default-features --jobs: --locked --offline --frozen " +
  "--verbose --quiet --message-format: --keep-going --no-deps --document-private-items --color:"
const testProgram = optionList(
  "q --nocapture --no-capture --show-output --test-threads: --ignored --include-ignored --exact --list --quiet --skip: --color:"
)
const go = "-v -race -short -json -n -x -tags: -p: -trimpath"
const gradle = tool(
  "qisS x: --quiet --info --stacktrace --no-daemon --daemon --offline --continue --parallel --console: --tests: --rerun-tasks --warning-mode: " +
    "--build-cache --no-build-cache --exclude-task:",
  all(task)
)
const dotnet = tool(
  "cfv: --no-restore --no-build --filter: --configuration: --verbosity: --framework: --nologo --list-tests"
)
const swift = tool("v c: --filter: --configuration: --parallel --skip: --verbose")
const make = tool(
  "Biknsw jl# C: --always-make --directory: --dry-run --just-print --ignore-errors --jobs= --keep-going --silent --quiet " +
    "--no-print-directory --output-sync= --trace",
  recipes
)
const biome = tool(
  "--write --fix --max-diagnostics: --diagnostic-level: --colors: --no-errors-on-unmatched --changed --staged --verbose --error-on-warnings",
  rewriting("--write --fix")
)

/** Tools of packages: they are also started by `npx`, `python -m` and a path in a folder of packages. */
const packagedTools: Readonly<Record<string, Tool>> = {
  vitest: tool(
    "t: --run --coverage --changed= --bail: --retry: --silent= --hideSkippedTests --passWithNoTests --project: --testNamePattern: --no-color " +
      "--no-coverage --no-file-parallelism --typecheck --shard: --maxWorkers: --minWorkers: --testTimeout: --watch=false --no-watch " +
      "--reporter=verbose --reporter=default --reporter=dot --reporter=basic --reporter=json --reporter=tap",
    { first: /^(?:run|watch|related|list|bench|dev)$|[./*]/ }
  ),
  jest: tool(
    "bfiove tw: --runInBand --ci --coverage --bail= --verbose --silent --watchAll=false --watch=false --testNamePattern: --maxWorkers: " +
      "--passWithNoTests --listTests --findRelatedTests --onlyChanged --onlyFailures --detectOpenHandles --forceExit --testPathPattern: " +
      "--testPathPatterns: --no-cache --no-coverage --errorOnDeprecated --expand --colors --no-color --shard: --logHeapUsage --json " +
      "--testTimeout: --randomize --seed:"
  ),
  mocha: tool(
    "bi fgt: --grep: --fgrep: --bail --timeout: --exit --recursive --parallel --invert --no-color --color --forbid-only --check-leaks " +
      "--reporter=spec --reporter=dot --reporter=min --reporter=json",
    { first: withDot }
  ),
  ava: tool("stv mT: --match: --serial --verbose --timeout: --fail-fast --tap", { first: withDot }),
  pytest: tool(
    "vqxls kmnr: --lf --last-failed --ff --failed-first --nf --sw --stepwise --tb: --maxfail: --durations: --cov= --cov-report=term " +
      "--cov-report=term-missing --no-cov --co --collect-only --exitfirst --verbose --quiet --no-header --no-summary --showlocals " +
      "--strict-markers --disable-warnings --color: --timeout: --deselect: --markers --fixtures"
  ),
  unittest: tool("bcfqv kpst: --verbose --quiet --failfast --buffer --locals"),
  compileall: tool("flq"),
  phpunit: tool(
    "v --filter: --testsuite: --group: --exclude-group: --stop-on-failure --testdox --colors= --verbose --no-coverage --list-tests --debug"
  ),
  rspec: tool(
    "bcp et: -fd -fp --example: --tag: --fail-fast= --only-failures --next-failure --dry-run --seed: --backtrace --color --no-color --profile= " +
      "--format=documentation --format=progress"
  ),
  tsc: tool(
    "b --build --dry --force --noEmit= --watch --pretty= --strict= --skipLibCheck= --incremental= --listFiles --listFilesOnly --explainFiles " +
      "--traceResolution --diagnostics --extendedDiagnostics --noErrorTruncation --emitDeclarationOnly --verbose"
  ),
  eslint: tool(
    "--fix --ext: --quiet --max-warnings: --cache --no-cache --color --no-color --format=stylish --format=json --format=compact --format=unix " +
      "--no-error-on-unmatched-pattern --fix-dry-run --report-unused-disable-directives --debug --ignore-pattern: --no-warn-ignored --stats",
    rewriting("--fix")
  ),
  prettier: tool(
    "clu -w --check --list-different --write --log-level: --loglevel: --no-color --ignore-unknown --no-error-on-unmatched-pattern",
    rewriting("--write -w")
  ),
  stylelint: tool("q --fix --quiet --allow-empty-input --max-warnings:", rewriting("--fix")),
  "biome check": biome,
  "biome lint": biome,
  "biome format": biome,
  "biome ci": biome,
  oxlint: tool("ADW: --fix --quiet --deny-warnings --max-warnings: --type-aware", rewriting("--fix")),
  oxfmt: tool("--check --write --list-different", rewriting("--write")),
  pyright: tool("v --verbose --stats --outputjson --warnings --level: --pythonversion:"),
  mypy: tool(
    "v pm: --strict --ignore-missing-imports --show-error-codes --show-column-numbers --no-error-summary --pretty --no-incremental " +
      "--namespace-packages --explicit-package-bases --follow-imports: --python-version: --check-untyped-defs --disallow-untyped-defs " +
      "--warn-unused-ignores --no-color-output"
  ),
  "ruff check": tool(
    "qvn --fix --no-fix --diff --select: --ignore: --extend-select: --output-format: --statistics --no-cache --exit-zero --show-fixes --preview " +
      "--line-length: --target-version: --exclude: --show-files --quiet --verbose",
    rewriting("--fix")
  ),
  "ruff format": tool("q --check --diff --quiet --line-length: --target-version: --exclude: --preview"),
  black: tool("qv l: --check --diff --color --quiet --verbose --line-length: --fast --safe"),
  isort: tool("cqv --check-only --check --diff --quiet --profile:"),
  flake8: tool(
    "qv --select: --ignore: --extend-ignore: --max-line-length: --statistics --count --show-source --exclude: --max-complexity:"
  )
}

/** Tools of the system. */
const systemTools: Readonly<Record<string, Tool>> = {
  make,
  gmake: make,
  just: tool("lnqv --list --summary --dry-run --quiet --verbose", recipes),
  "npm run": tool(npm, { after: scriptOptions, ...scripts }),
  "npm run-script": tool(npm, { after: scriptOptions, ...scripts }),
  "npm test": tool(npm, { after: scriptOptions }),
  "pnpm run": tool(pnpm, { after: scriptOptions, ...scripts }),
  "pnpm test": tool(pnpm, { after: scriptOptions }),
  "yarn run": tool("", { after: scriptOptions, first: yarnScript, operand: plainWord, runsNames: true }),
  "yarn test": tool("--coverage --watch=false --watchAll=false --ci --silent --verbose", {
    after: scriptOptions
  }),
  "cargo test": tool(cargo, { after: testProgram }),
  "cargo bench": tool(cargo, { after: testProgram }),
  "cargo build": tool(cargo),
  "cargo check": tool(cargo),
  "cargo doc": tool(cargo),
  "cargo clippy": tool(cargo, { after: optionList("ADFW:") }),
  "cargo fmt": tool("qv p: --all --check --package: --quiet --verbose", { after: optionList("--check") }),
  "go test": tool(
    `${go} -cover -failfast -benchmem -count: -run: -bench: -benchtime: -timeout: -parallel: -cpu: -shuffle: -skip: -covermode: -coverpkg: -list:`
  ),
  "go build": tool(go),
  "go vet": tool(go),
  "go fmt": tool("-n -x"),
  gofmt: tool("-d -l -s -e -w", rewriting("-w")),
  rustfmt: tool("lqv --check --edition: --quiet --verbose"),
  shellcheck: tool("aCx efosS: --severity: --exclude: --shell: --format: --color= --external-sources --norc"),
  "golangci-lint run": tool(
    "v DE: --fix --fast --timeout: --new --new-from-rev: --tests= --verbose --enable: --disable: --build-tags:",
    rewriting("--fix")
  ),
  mvn: tool(
    "qBoeX -am -ntp -pl: -T: --quiet --batch-mode --offline --errors --also-make --projects: --no-transfer-progress",
    all(/^(?:test|compile|package|verify|test-compile)$/)
  ),
  gradle,
  "dotnet test": dotnet,
  "dotnet build": dotnet,
  "swift test": swift,
  "swift build": swift,
  "mix test": tool(
    "--trace --only: --exclude: --include: --max-failures: --failed --stale --seed: --slowest: --color --cover --warnings-as-errors"
  ),
  "mix compile": tool("--force --warnings-as-errors"),
  "mix format": tool("--check-formatted --dry-run")
}

const find = (
  tables: Readonly<Record<string, Tool>>,
  program: string,
  first: string
): readonly [Tool, number] | undefined => {
  const name = `${program} ${first}`
  const bySubcommand = Object.hasOwn(tables, name) ? tables[name] : undefined
  if (bySubcommand !== undefined) return [bySubcommand, 2]
  const whole = Object.hasOwn(tables, program) ? tables[program] : undefined
  return whole === undefined ? undefined : [whole, 1]
}

/** Whether a package's program of this name is known, with its first word. */
export const isPackagedTool = (program: string, first = ""): boolean =>
  find(packagedTools, program, first) !== undefined

/** Words of a tool whose options are all known. */
export interface ToolWords {
  /** Files that the tool rewrites; `undefined` without an option that rewrites. */
  readonly rewritten: ReadonlyArray<string> | undefined
  /** Operands that name scripts or targets of the project. */
  readonly names: ReadonlyArray<string>
}

/** A tool with known options and operands; `undefined` for any other. `program` is the name of a program of the system or of a package. */
export const toolWords = (program: string, args: ReadonlyArray<string>): ToolWords | undefined => {
  const found = find(systemTools, program, args[0] ?? "") ?? find(packagedTools, program, args[0] ?? "")
  if (found === undefined) return undefined
  const [{ after, first, isRecipe, operand, options, rewriting, runsNames }, length] = found
  if (isRecipe && !args.every((word) => word.startsWith("-") || plainWord.test(word))) return undefined
  const read = readWords(args.slice(length - 1), options)
  if (read === undefined) return undefined
  const { operands } = read
  if (operands.length > 0 && !first.test(operands[0] ?? "")) return undefined
  if (!operands.slice(1).every((word) => operand.test(word))) return undefined
  const passed = read.after === undefined ? undefined : readWords(read.after, after)
  if (read.after !== undefined && passed === undefined) return undefined
  // A second `--` may end the options of another program in between.
  if (passed?.after !== undefined) return undefined
  if (passed?.operands.every((word) => anyOperand.test(word)) === false) return undefined
  const rewrites = read.options.some((word) => rewriting.has(word))
  return {
    rewritten: rewrites ? [...operands, ...(passed?.operands ?? [])] : undefined,
    names: runsNames ? [...operands, ...(passed?.operands ?? [])] : []
  }
}

/** Whether the words after a script of the project are operands and options that only change what it prints or selects. */
export const isPlainForScript = (args: ReadonlyArray<string>): boolean => {
  const read = readWords(args, scriptOptions)
  return (
    read !== undefined && [...read.operands, ...(read.after ?? [])].every((word) => /^[^-@+]/s.test(word))
  )
}
