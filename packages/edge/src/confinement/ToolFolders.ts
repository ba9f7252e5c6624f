/**
 * What confined runs read of the toolchains in a user's home. Data and pure functions.
 *
 * Guarantees: a list of what builds need. Files of settings next to it, in which package managers keep credentials, are not listed: those of
 * `.cargo`, `.gem`, `.m2`, `.npmrc`, `.config` and `.docker`, and `etc` and `pip.conf` of an installation.
 */

/**
 * How a folder is shown. `tree`: everything in it. `programs`: its programs. `installation`: its programs in `bin`, and what they load.
 */
export type ToolKind = "tree" | "programs" | "installation"

export interface ToolFolder {
  /** Names from the home on. `*` stands for each folder, and `python*` for each whose name begins so. */
  readonly names: ReadonlyArray<string>
  readonly kind: ToolKind
}

const each = (kind: ToolKind, paths: string): ReadonlyArray<ToolFolder> =>
  paths.split(" ").map((path) => ({ names: path.split("/"), kind }))

/** Version managers with the same folders. */
const versionManager = (folder: string): ReadonlyArray<ToolFolder> => [
  ...each("tree", `${folder}/libexec ${folder}/plugins ${folder}/shims ${folder}/version`),
  ...each("programs", `${folder}/bin`),
  ...each("installation", `${folder}/versions/*`)
]

export const toolFolders: ReadonlyArray<ToolFolder> = [
  ...each(
    "programs",
    "bin .local/bin .bun/bin .cargo/bin .deno/bin go/bin .volta/bin .swiftly/bin .ghcup/bin .dotnet .dotnet/tools .asdf/shims " +
      ".local/share/mise/shims .local/share/pnpm .local/share/swiftly/bin"
  ),
  ...[".pyenv", ".rbenv", ".nodenv", ".jenv"].flatMap(versionManager),
  ...each(
    "installation",
    ".npm-global .asdf/installs/*/* .fnm/node-versions/*/installation .ghcup/ghc/* .local/pipx/venvs/* .local/share/fnm/node-versions/*/installation " +
      ".local/share/mise/installs/*/* .local/share/pipx/venvs/* .local/share/swiftly/toolchains/*/usr .local/share/uv/python/* " +
      ".local/share/uv/tools/* .local/share/virtualenvs/* .nvm/versions/node/* .rustup/toolchains/* .rvm/rubies/* .sdkman/candidates/*/* " +
      ".swiftly/toolchains/*/usr .volta/tools/image/*/*"
  ),
  ...each(
    "tree",
    ".asdf/asdf.sh .asdf/bin .asdf/lib .asdf/plugins .bun/install/global/node_modules .cargo/git .cargo/registry .config/git/ignore " +
      ".dotnet/host .dotnet/packs .dotnet/sdk .dotnet/sdk-manifests .dotnet/shared .dotnet/templates .dotnet/tools/.store .fnm/aliases .gem/ruby " +
      ".local/lib/node_modules .local/lib/python* .local/lib/ruby .local/share/fnm/aliases .local/share/gem/ruby .local/share/pnpm/.tools " +
      ".local/share/pnpm/global .local/share/pnpm/store .m2/repository .nvm/alias .nvm/nvm-exec .nvm/nvm.sh .pnpm-store .rustup/settings.toml " +
      ".rustup/update-hashes .rvm/bin .rvm/environments .rvm/gems .rvm/lib .rvm/scripts .rvm/wrappers .sdkman/bin .sdkman/libexec .sdkman/src go/pkg"
  )
]

/** Of an installation: programs, libraries, sources and headers, and what says which version it is. */
const PARTS = new Set(
  "include jmods jre lib lib32 lib64 libexec man pkg pyvenv.cfg release share src version go.env legal".split(
    " "
  )
)
const TEXTS = new Set(
  "authors changelog changelog.md copying license license.md license.txt licenses news notice patents readme readme.md".split(
    " "
  )
)

/** Whether a part of an installation is a text for people. */
export const isInstallationText = (name: string): boolean => TEXTS.has(name.toLowerCase())

/** Whether a part of an installation may be shown. Its programs are in `bin` and `sbin`. */
export const isInstallationPart = (name: string): boolean =>
  PARTS.has(name.toLowerCase()) || isInstallationText(name)

/** Settings that a Java machine does not start without. Others of its kind contain passwords. */
export const javaSettings: ReadonlySet<string> = new Set([
  "logging.properties",
  "management",
  "net.properties",
  "sdp",
  "security"
])

/** Whether a name in a pattern stands for this name. */
export const matchesName = (pattern: string, name: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name
