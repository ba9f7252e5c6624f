/**
 * Types, folders and names of files, by the programs that read them. Data. Names as file systems compare them. Some ignore case,
 * compatible and invisible characters, and trailing dots and spaces. A copy of the workspace may be on any of them.
 *
 * Names are compared in lower case. A missing type, document or data folder causes an unnecessary question. A name that is missing
 * from `autoLoadedNames` allows a write without a question, so types that only tools read are not listed as sources.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import { hidesInCommand } from "@corral/domain/text/SafeText"

/** Nothing to fold. */
const folds = /[^a-z0-9_-]/

/** The name without differences that file systems ignore: case, compatible and invisible characters, trailing dots and spaces, streams. */
export const foldedName = (name: string): string => {
  if (!folds.test(name)) return name
  const folded = name
    .normalize("NFKC")
    .replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}]/gu, "")
    .toLowerCase()
  const colon = folded.indexOf(":", 1)
  const plain = colon === -1 ? folded : folded.slice(0, colon)
  let end = plain.length
  while (end > 1 && (plain[end - 1] === "." || plain[end - 1] === " ")) end--
  return plain.slice(0, end)
}

/** Whether a path names a file of Git's own data. Some file systems have several spellings for it. */
export const isRepositoryName = (path: string): boolean =>
  path.split(/[\\/]/).some((name) => /^(\.git|git~\d)$/.test(foldedName(name)))

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Sources that run as part of the program or its tests. Snapshots are modules of test runners. */
export const sourceTypes = named(
  "ts tsx mts cts js jsx mjs cjs vue svelte astro css scss sass less html htm py pyi ipynb rb erb go rs java kt scala c h cc cpp cxx " +
    "hpp hh hxx m mm swift cs fs vb php dart ex heex erl hrl hs ml mli clj cljs cljc jl lua r zig f f90 pas d nim cr v sv vhd vhdl " +
    "sol wgsl glsl vert frag hlsl cu cuh metal sql graphql gql proto thrift fbs hbs ejs liquid njk pug mdx snap"
)
/** Sources of languages whose tools load files by their names: settings, tasks, plugins and tests in the language itself. */
export const scriptTypes = named(
  "ts tsx mts cts js jsx mjs cjs py rb php lua r groovy clj cljs cljc ex scala swift hs lhs ml pl pm jl nim cr kts"
)
/** Text formats, except LaTeX, which runs programs. */
export const documentationTypes = named("md markdown rst adoc txt bib")
export const dataTypes = named(
  "csv tsv jsonl ndjson geojson svg png jpg jpeg gif webp avif ico bmp woff woff2 ttf otf po pot ftl vtt srt xliff xlf"
)
/** Formats of both settings and data. */
export const settingsFiles = named("json json5 jsonc yaml yml toml xml ini properties")

/** Folders in which files of those formats are data. */
export const dataFolders = named(
  "fixtures __fixtures__ testdata test-data locales i18n l10n translations __snapshots__"
)
/** Data folders, if below one of `dataFolderParents`. */
export const dataFoldersBelow = named("data locale lang messages mocks recordings cassettes")
export const dataFolderParents = named("test tests spec specs __tests__ src public static")

/** Folders of installed packages, which package managers write all the time. */
export const installedFolders = named(
  "node_modules bower_components jspm_packages venv virtualenv site-packages dist-packages __pycache__ pods carthage elm-stuff renv packrat"
)
/** Folders of copied packages, which are part of a project. */
const copiedFolders = named("vendor deps third_party third-party thirdparty")
/** Folders of installed and copied packages. */
export const packageFolders: ReadonlySet<string> = new Set([...installedFolders, ...copiedFolders])
/** Folders whose files other programs run: packages, and what builds, hooks and CI start. */
export const runFolders: ReadonlySet<string> = new Set([
  ...packageFolders,
  ...named(
    "requirements scripts script ci githooks git-hooks git_hooks buildsrc build-logic husky fastlane magefiles tuist site_scons " +
      "build-scripts build_scripts ci-scripts ci_scripts eslint-local-rules eslint-rules __mocks__ _plugins"
  )
])
/** Folders whose files other programs run, but ordinary in a source folder: `src/actions`. */
export const runFoldersOfProject = named(
  "hooks actions library external env config initializers turbo skills module_utils gulp grunt webpack alembic _ext _extensions _modules " +
    "_states _templates blueprints inventory ftplugin storybook"
)
export const sourceFolders = named("src app lib source sources components")
/** Folders whose files other programs run, if directly in a test folder. */
export const runFoldersOfTests = named("support _support setup plugins bootstrap")
export const testFolders = named(
  "test tests spec specs features e2e cypress integration playwright __tests__ testthat"
)
/** Folders that tools of a language load completely. */
export const runFoldersOfTypes: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["project", named("scala java")],
  ["initializers", named("rb js ts")]
])

/** Folders of agents, in which documents are instructions. Documentation about agents is in `docs`. */
export const agentFolders = named(
  "agents agent rules skills skill commands command prompts prompt memory memories memory-bank memory_bank instructions steering modes " +
    "chatmodes personas subagents"
)
export const docFolders = named("docs doc documentation")

/** Files that make a folder a package, in which tools look for files by name. */
export const manifests = [
  ..."package.json pyproject.toml setup.py setup.cfg Gemfile composer.json mix.exs build.gradle build.gradle.kts pom.xml deno.json".split(
    " "
  ),
  ..."deno.jsonc build.sbt project.clj deps.edn Package.swift DESCRIPTION rebar.config stack.yaml cabal.project dune-project".split(
    " "
  ),
  ..."requirements.txt tox.ini Pipfile Rakefile gems.rb gulpfile.js Project.toml bun.lock".split(" ")
]

/** Documents for people, by names in capitals. Files of agents are named so, too: `SOUL.md`, `TOOLS.md`. */
export const documentNames = named(
  "readme changelog changes contributing license licence copying notice authors maintainers security code_of_conduct support governance " +
    "history news roadmap todo notes faq install upgrading migration migrating architecture design development testing hacking glossary " +
    "benchmarks credits third_party_notices release_notes index api cli http sdk usage quickstart examples compatibility performance " +
    "troubleshooting"
)

/** Maximum length of a name on common file systems. */
const MAX_NAME = 255

const any = (...names: ReadonlyArray<string>): RegExp =>
  capped(MAX_NAME, new RegExp(`^(${names.join("|")})$`))

/** Instructions that agents load automatically. */
export const instructionNames = any(
  String.raw`(claude|agents?|gemini|qwen|codex|copilot|cursor|crush|warp|jules|goose|opencode|kimi|conventions|skill|replit)(\..+)?\.(md|markdown|txt)`,
  String.raw`(copilot-)?instructions\.(md|markdown|txt)|.*\.(instructions|prompt|agent|chatmode|rules)\.md`
)

const settingsOfTools =
  "nest-cli|nodemon|opencode|crush|mcp|settings|launch|tasks|extensions|plugin|hooks|devcontainer|biome|renovate|manifest|pnpm|npm-shrinkwrap|" +
  "pubspec|build|lefthook|taskfile|docker|compose|action|mkdocs|_config|pyproject|poetry|uv|tox|setup|pytest|mypy|cargo|rust-toolchain|" +
  "clippy|rustfmt|mise|pom|phpunit|ivy|nuget|gradle|cmake(user)?presets|wrangler|cdk|cdktf|serverless|pulumi|playbook|ansible|galaxy|" +
  "molecule|devbox|azure-pipelines|bitbucket-pipelines|psalm|captainhook|lint-staged|launchsettings|skaffold|helmfile|kustomization|" +
  "docker-bake|buildspec|cloudbuild|appspec|samconfig|railway|appveyor|cliff|pixi|pre-commit-hooks|" +
  "sonar-project|grumphp|behat|codeception|phpcs|phpstan|infection|jest|babel|eslint|tslint|stylelint|prettier|" +
  "commitlint|release-please|typedoc|cspell|knip|api-extractor|electron-builder|capacitor|tauri|detox|dprint|dvc|snakefile|procfile|kiro"

/** Names that a build, a package manager, a test runner, an interpreter or an editor looks for, and then runs or obeys. */
export const autoLoadedNames = any(
  // JavaScript and TypeScript.
  String.raw`.*[._-](config|conf|rc|setup|teardown|preset|workspace|plugins?)\.[a-z0-9.]+`,
  String.raw`(lighthouserc|(config|app|webpack)[-.]overrides|serverless|typedoc|wallaby|truffle(-config)?|testem|jasmine|pnpmfile|ember-cli-build|eslint-local-rules)\..+`,
  String.raw`(sanity|gridsome|quasar|redwood|strapi)\..+|.+[._-]build\.(js|[cm]js|ts|[cm]ts|py|rb|php)`,
  String.raw`(gulp|grunt|jake|danger|cake|knex|plop|broc|robo|tox|locust|shake|mask|tusk|bake|nox|fab|task|guard|pact|steep|just)[-_]?file\.[a-z.]+|(gatsby|next|snowpack|lerna|ecosystem|ormconfig)[.-].+`,
  String.raw`(webpack|rollup|vite|vitest|karma|rspack|esbuild)\..+`,
  String.raw`(global|jest|vitest|mocha|cypress|playwright|tests?)[-_]?(setup|teardown)[a-z-]*\.[a-z.]+`,
  String.raw`set-?up(-?(tests?|jest|vitest|env|files?|after|before)[a-z-]*)?\.[a-z.]+|(pre|post)?(install|build|publish|pack)\.[a-z.]+`,
  // Python.
  String.raw`(conftest|conf|noxfile|fabfile|tasks|dodo|sitecustomize|usercustomize|conanfile|celeryconfig|hubconf|pelicanconf|publishconf|pavement|duties|airflow_local_settings|.+_config)\.py`,
  String.raw`(.+[-_.])?(requirements|constraints)([-_.].*)?\.txt|(cmakelists|conanfile|meson_options|runtime)\.txt`,
  // Other languages.
  String.raw`(make|project|startup|rprofile|deploy)\.[a-z]+|(package(@.+)?|project|workspace|tuist)\.swift|(profiles|data_readers|user|build)\.clj[cs]?|(gems|extconf|puma|unicorn)\.rb|myocamlbuild\.ml|_targets\.r|pest\.php|shadow-cljs\..+`,
  String.raw`(package|fast|pod|rake|gem|guard|vagrant|thor|berks|cap|brew|app)file\.[a-z]+`,
  String.raw`(init|xmake|premake\d*|config)\.lua|magefile\.go|(rector|ecs|castor|scoper\.inc|wp-config|autoload|artisan|phpstan-.+)\.php`,
  // Terraform in JSON.
  String.raw`.+\.(tf|tfvars|tftest|tfquery)\.json|config\.toml`,
  // Names without a type.
  String.raw`(gnu|bsd|common|make-)?makefile(\..+)?|(docker|container|jenkins|just|rake|gem|proc|vagrant|brew|pod|fast|app|earth|tilt|snake|guard|thor|cap|berks|puppet|cheese)file(\..+)?`,
  String.raw`sconstruct|sconscript|wscript|configure|gradlew|mvnw|artisan|workspace|pipfile|cartfile|jakefile|cakefile|moon|codeowners`,
  // Settings by name, also in data folders.
  String.raw`(package|composer|deno|bun|[jt]sconfig|nx|turbo|lerna|rush|project|workspace|angular|vercel|netlify|firebase|app|eas|${settingsOfTools})([._-].+)?\.(json[5c]?|toml|ya?ml|xml|ini|properties)`
)

/** Names of script sources that test runners load in test folders. */
export const autoLoadedTestNames = any(
  String.raw`(.*[._-])?(helpers?|bootstrap|env|environment|hooks|setup|teardown|config|global|globals|support)\.[a-z]+`,
  String.raw`(helper|setup|teardown)[._-].+\.r`
)
/** Folders with the data of an installation. */
export const installationFolderNames = any(String.raw`.+\.(egg-info|dist-info|egg)|.+_plugins`)

/** Characters that file systems, shells and tools read in the same way. */
const plain = /^[\p{L}\p{M}\p{N}_@+#=,()[\]{}'&!^. -]+$/u

/** Excludes short names of other files (`PACKAG~1.JSO`), characters that file systems drop, options and variables. */
export const isPlainName = (name: string): boolean =>
  plain.test(name) && !/^[\s-]|[. ]$/.test(name) && !hidesInCommand(name)
