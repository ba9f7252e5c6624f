/**
 * What a run reads of programs: those on its PATH, its own program and interpreter with what they load, and the toolchains in the user's home,
 * which are data. A folder of the machine is shown by a rule about its entries. Several views of the machine's folders as one: each is a list of
 * mounts that shows folders and covers parts of them. Pure.
 *
 * Guarantees: of a folder with programs it reads the programs only. Of the folder around a `bin`, it reads the parts of an installation. Of
 * toolchains it reads what builds need. Files of settings next to that, in which package managers keep credentials, are not listed: those of
 * `.cargo`, `.gem`, `.m2`, `.npmrc`, `.config` and `.docker`, and `etc` and `pip.conf` of an installation. What one view shows is shown, also if
 * another one covers it. A mount that repeats the one around it is left out.
 *
 * Does not: read the program. A program that loads files from elsewhere names them in its adapter's `folders.reads`.
 */
import { type Dirent, existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs"
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path"
import { folderEntries } from "../workspace/UntrustedFiles.ts"
import { isWithin } from "../workspace/PathText.ts"
import type { Mount } from "./Mount.ts"

/**
 * How a folder is shown. `tree`: everything in it. `programs`: its programs. `installation`: its programs in `bin`, and what they load.
 */
type ToolKind = "tree" | "programs" | "installation"

interface ToolFolder {
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
const isInstallationText = (name: string): boolean => TEXTS.has(name.toLowerCase())

/** Whether a part of an installation may be shown. Its programs are in `bin` and `sbin`. */
const isInstallationPart = (name: string): boolean =>
  PARTS.has(name.toLowerCase()) || isInstallationText(name)

/** Settings that a Java machine does not start without. Others of its kind contain passwords. */
const javaSettings: ReadonlySet<string> = new Set([
  "logging.properties",
  "management",
  "net.properties",
  "sdp",
  "security"
])

/** Whether a name in a pattern stands for this name. */
const matchesName = (pattern: string, name: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name

type MountsByPath = ReadonlyMap<string, Mount>

const byPath = (mounts: ReadonlyArray<Mount>): MountsByPath =>
  new Map(mounts.map((mount) => [mount.path, mount]))

/** The mount of the path, or the nearest one around it. */
const nearest = (mounts: MountsByPath, path: string): Mount | undefined => {
  for (let at = path; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const mount = mounts.get(at)
    if (mount !== undefined) return mount
  }
  return undefined
}

const around = (path: string): string => path.slice(0, path.lastIndexOf("/"))

const isCover = (kind: Mount["kind"]): boolean => kind === "hidden" || kind === "hidden_file"

/** The mounts of all views. */
const mergedViews = (views: ReadonlyArray<ReadonlyArray<Mount>>): ReadonlyArray<Mount> => {
  const all = views.map(byPath)
  const isShown = (path: string): boolean => all.some((view) => nearest(view, path)?.kind === "read")
  const mounts = byPath(views.flat().filter((mount) => !isCover(mount.kind) || !isShown(mount.path)))
  // A link exists in a folder that is shown.
  return [...mounts.values()].filter(({ kind, path }) => {
    const outer = nearest(mounts, around(path))?.kind
    return outer !== "read" || isCover(kind)
  })
}

// What a run sees of a folder of the machine, by a rule about its entries: with few mounts, because each one delays the start.
//
// Guarantees: an entry that the rule does not show is not shown. If all are shown, the folder is one mount. If few are not, the folder is shown and
// those are covered. A folder of such folders is one mount with their covers.
//
// Does not: cover a link, which shows nothing by itself, or what is made later in a folder that is shown.

/** Names that are read of one folder. Without a complete list, nothing of it is shown. */
const MAX_NAMES = 8_192

interface ShownFolder {
  readonly mounts: ReadonlyArray<Mount>
  /** What is covered where the folder is shown with everything in it; `undefined` if only parts of it are shown. */
  readonly covers: ReadonlyArray<Mount> | undefined
}

const nothingShown: ShownFolder = { mounts: [], covers: undefined }

const shownBut = (path: string, covers: ReadonlyArray<Mount>): ShownFolder => ({
  mounts: [{ kind: "read", path }, ...covers],
  covers
})

/** A folder or file with everything in it. */
const shownWhole = (path: string): ShownFolder => shownBut(path, [])

/** What an entry shows, by its name and path. */
type EntryRule = (name: string, path: string, entry: Dirent) => ShownFolder

const entriesOf = (folder: string): ReadonlyArray<Dirent> => {
  const entries = folderEntries(folder)
  return entries.length > MAX_NAMES ? [] : entries
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

const coverOf = (path: string): Mount => ({ kind: isFolder(path) ? "hidden" : "hidden_file", path })

/** The folder by the rule. */
const shownByRule = (folder: string, rule: EntryRule): ShownFolder => {
  const entries = entriesOf(folder).map((entry) => {
    const path = join(folder, entry.name)
    const shown = rule(entry.name, path, entry)
    return { path, shown, isLink: entry.isSymbolicLink() }
  })
  if (entries.length === 0) return nothingShown
  const rest = entries.filter(({ isLink, shown }) => !isLink && shown.covers === undefined)
  const inside = entries.flatMap(({ isLink, shown }) => (isLink ? [] : (shown.covers ?? [])))
  const single = entries.flatMap(({ isLink, path, shown }): ReadonlyArray<Mount> =>
    isLink && shown.covers !== undefined ? [{ kind: "link", path, target: readlinkSync(path) }] : shown.mounts
  )
  if (rest.length === 0) return shownBut(folder, inside)
  // Parts of an entry next to one that is not shown: the folder is no tree of tools, and more may be made in it later.
  const isApart = inside.length > 0 || rest.some(({ shown }) => shown.mounts.length > 0)
  return isApart || rest.length >= single.length
    ? { mounts: single, covers: undefined }
    : shownBut(
        folder,
        rest.map(({ path }) => coverOf(path))
      )
}

const MAX_LINKS = 20
/** Scripts that shells read from a folder of programs. */
const READ_SCRIPTS = new Set(["activate", "activate.csh", "activate.fish"])

const isProgram = (path: string): boolean => {
  try {
    const stat = statSync(path)
    return stat.isFile() && (stat.mode & 0o111) !== 0
  } catch {
    return false
  }
}

const programRule: EntryRule = (name, path, entry) => {
  const isShown = isProgram(path) || (entry.isFile() && READ_SCRIPTS.has(name))
  return isShown ? shownWhole(path) : nothingShown
}

const existing = (path: string): ShownFolder => (existsSync(path) ? shownWhole(path) : nothingShown)

const installation = (folder: string): ShownFolder => {
  const isJava = existsSync(join(folder, "lib", "jrt-fs.jar"))
  const shown = shownByRule(folder, (name, path) => {
    if (name === "bin" || name === "sbin") return shownByRule(path, programRule)
    if (name === "conf" && isJava)
      return shownByRule(path, (inside, at) => (javaSettings.has(inside) ? shownWhole(at) : nothingShown))
    return isInstallationPart(name) ? shownWhole(path) : nothingShown
  })
  // Texts are shown where that needs no mount of their own.
  return shown.covers === undefined
    ? { ...shown, mounts: shown.mounts.filter(({ path }) => !isInstallationText(basename(path))) }
    : shown
}

const shownAs = (kind: ToolKind, path: string): ShownFolder => {
  switch (kind) {
    case "tree":
      return existing(path)
    case "programs":
      return shownByRule(path, programRule)
    case "installation":
      return installation(path)
  }
}

/** Toolchains of which the home has the first folder: most of them are not there, and each look costs the start. */
const installedTools = (home: string): ReadonlyArray<ToolFolder> => {
  const names = new Set(folderEntries(home).map(({ name }) => name))
  // A home may be closed to listing, and open to those who know a name.
  return names.size === 0 ? toolFolders : toolFolders.filter(({ names: [first = ""] }) => names.has(first))
}

const shownTool = (folder: string, { kind, names }: ToolFolder): ShownFolder => {
  const at = names.findIndex((name) => name.endsWith("*"))
  if (at === -1) return shownAs(kind, join(folder, ...names))
  const rest = { kind, names: names.slice(at + 1) }
  return shownByRule(join(folder, ...names.slice(0, at)), (name, path, entry) =>
    entry.isDirectory() && matchesName(names[at] ?? "", name) ? shownTool(path, rest) : nothingShown
  )
}

/** Folders around a `bin` that hold more than one installation, and private files next to them. */
const isBroad = (home: string, folder: string): boolean =>
  isWithin(folder, home) || [".local", ".cargo", ".config"].some((name) => folder === join(home, name))

/** The packages around a path, which load each other. */
const packagesAround = (path: string): string | undefined => {
  const at = path.indexOf("/node_modules/")
  return at === -1 ? undefined : path.slice(0, at + "/node_modules".length)
}

/** What a run has anyway, and the user's home. */
interface ShownFolders {
  readonly home: string
  readonly system: ReadonlyArray<Mount>
}

const isOfSystem = (system: ReadonlyArray<Mount>, path: string): boolean =>
  system.some((mount) => isWithin(mount.path, path))

/** A folder on PATH. */
const onPath = ({ home, system }: ShownFolders, folder: string): ShownFolder => {
  if (isOfSystem(system, folder)) return nothingShown
  const packages = packagesAround(folder)
  if (packages !== undefined && basename(folder) === ".bin") return existing(packages)
  const around = dirname(folder)
  return basename(folder) === "bin" && !isBroad(home, around)
    ? installation(around)
    : shownByRule(folder, programRule)
}

/** The path and every path that its links name, the real path last. */
const linksOf = (path: string): ReadonlyArray<string> => {
  const found = [path]
  let at = path
  for (let links = 0; links < MAX_LINKS; links++) {
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() !== true) break
    at = resolve(dirname(at), readlinkSync(at))
    found.push(at)
  }
  return [...found, realpathSync(path)]
}

/** A file of a program that is started: with its packages, its installation, or the other files of its folder, which it may load. */
const startedFile = (shown: ShownFolders, path: string): ReadonlyArray<ShownFolder> => {
  if (isOfSystem(shown.system, path)) return []
  const packages = packagesAround(path)
  if (packages !== undefined) return [existing(packages)]
  const folder = dirname(path)
  const isOfPrograms = basename(folder) === "bin" || isBroad(shown.home, folder)
  return isOfPrograms ? [onPath(shown, folder), existing(path)] : [existing(folder)]
}

const startedProgram = (shown: ShownFolders, path: string): ReadonlyArray<ShownFolder> => {
  try {
    return linksOf(path).flatMap((each) => startedFile(shown, each))
  } catch {
    // It does not exist.
    return []
  }
}

/** Variables with certificates that programs read. */
const CERTIFICATES = ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"]

const INTERPRETERS = /^(?:node|nodejs|bun|python3?(?:\.\d+)?|ruby|perl|php|sh|bash)$/

/**
 * The script that an interpreter starts: its first argument that is not an option. Later arguments may hold a prompt, which must not make a
 * folder readable.
 */
const scriptOf = (program: string, args: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (!INTERPRETERS.test(basename(program))) return []
  const script = args.find((each) => !each.startsWith("-"))
  return script !== undefined && isAbsolute(script) && isFile(script) ? [script] : []
}

const isFile = (path: string): boolean => {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

interface ToolRequest {
  /** Programs that are started. */
  readonly started: ReadonlyArray<{
    /** Absolute path. */
    readonly file: string
    readonly args?: ReadonlyArray<string>
  }>
  readonly env: Readonly<Record<string, string>>
  readonly home: string
  /** Mounts of the system's folders. */
  readonly system: ReadonlyArray<Mount>
}

/** Mounts for its programs and their scripts, the programs on its PATH, toolchains, and its certificates. */
export const toolMounts = ({ env, home, started, system }: ToolRequest): ReadonlyArray<Mount> => {
  const shown = { home, system }
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => isAbsolute(folder))
  const certificates = CERTIFICATES.flatMap((name) => env[name] ?? []).filter((path) => isAbsolute(path))
  const views = [
    ...installedTools(home).map((folder) => shownTool(home, folder)),
    ...[...new Set(folders)].map((folder) => onPath(shown, resolve(folder))),
    ...started
      .flatMap(({ args = [], file }) => [file, ...scriptOf(file, args)])
      .flatMap((path) => startedProgram(shown, path)),
    ...certificates.map(existing)
  ]
  return mergedViews(views.map(({ mounts }) => mounts))
}
