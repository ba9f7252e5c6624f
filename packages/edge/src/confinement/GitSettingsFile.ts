/**
 * The settings of Git of a run: a file in a folder of the run, with what it may read of the user's.
 *
 * Guarantees: a list of sections and names that a run gets, never of what is dangerous. An address with a user or a password is left out in any of them.
 *
 * Does not: read files that the settings include.
 */
import { lstatSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { isWithin } from "../workspace/PathText.ts"
import type { Mount } from "./Mount.ts"

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Sections that are shown with every name. */
const sections = named(
  "advice alias apply author blame branch color column commit committer diff difftool feature fetch filter format gc grep index init " +
    "interactive log merge mergetool pack pull push rebase rerere safe stash status submodule tag user worktree"
)
/** Of `core`, which also names programs. */
const coreNames = named(
  "abbrev attributesfile autocrlf eol excludesfile filemode ignorecase longpaths precomposeunicode quotepath safecrlf symlinks untrackedcache whitespace"
)

/** Characters of one line with its continuations. */
const MAX_LINE = 4_096
/** Words with which values name a secret. */
const SECRET = ["authorization", "bearer", "password", "secret", "token"]

const SPACES = " \t\r\n\v\f"

/** The text until the first of these characters. */
const before = (text: string, stops: string): string => {
  for (let at = 0; at < text.length; at++) if (stops.includes(text[at] ?? "")) return text.slice(0, at)
  return text
}

/** An address with a user, such as `https://token@host`. */
const hasUser = (value: string): boolean => {
  const [, ...addresses] = value.split("://")
  return addresses.some((address) => before(address, `/"${SPACES}`).includes("@"))
}

const isShown = (section: string, line: string): boolean => {
  const name = before(line.trimStart(), `=${SPACES}`).toLowerCase()
  if (section === "core" ? !coreNames.has(name) : !sections.has(section)) return false
  const lower = line.toLowerCase()
  return line.length <= MAX_LINE && !hasUser(line) && !SECRET.some((word) => lower.includes(word))
}

/** Whether the line ends with an odd number of backslashes. */
const isContinued = (line: string): boolean => {
  let count = 0
  while (line[line.length - 1 - count] === "\\") count++
  return count % 2 === 1
}

/** Lines, each with those that continue it. */
const logicalLines = (text: string): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let open = ""
  for (const line of text.split("\n")) {
    const isOpen = isContinued(line.endsWith("\r") ? line.slice(0, -1) : line)
    if (isOpen) open += `${line}\n`
    else {
      lines.push(open + line)
      open = ""
    }
  }
  return lines
}

/** End of the header with which the line begins: after its bracket, which a name in quotation marks may contain. */
const headerEnd = (line: string): number => {
  let isQuoted = false
  for (let at = 0; at < line.length; at++) {
    if (line[at] === "\\") at++
    else if (line[at] === '"') isQuoted = !isQuoted
    else if (line[at] === "]" && !isQuoted) return at + 1
  }
  return line.length
}

/** The settings that a run reads. */
export const shownGitSettings = (text: string): string => {
  const shown: Array<string> = []
  let section = ""
  for (const line of logicalLines(text)) {
    const trimmed = line.trimStart()
    if (!trimmed.startsWith("[")) {
      if (isShown(section, line)) shown.push(line)
      continue
    }
    const end = headerEnd(trimmed)
    const [header, rest] = [trimmed.slice(0, end), trimmed.slice(end)]
    section = before(header.slice(1, -1).trim(), `."${SPACES}`).toLowerCase()
    const isListed = section === "core" || sections.has(section)
    if (isListed && !hasUser(header)) shown.push(header)
    else section = ""
    if (rest.trim() !== "" && isShown(section, rest)) shown.push(rest)
  }
  return `${shown.join("\n")}\n`
}

/** Relative to the home, in the order in which Git reads them: the last value counts. */
const FILES = [".config/git/config", ".gitconfig"]
const MAX_BYTES = 262_144

const contentOf = (path: string): string => {
  try {
    const stat = statSync(path)
    return stat.isFile() && stat.size <= MAX_BYTES ? readFileSync(path, "utf8") : ""
  } catch {
    return ""
  }
}

export interface GitSettingsFile {
  readonly mounts: ReadonlyArray<Mount>
  readonly env: Readonly<Record<string, string>>
}

export const noGitSettings: GitSettingsFile = { mounts: [], env: {} }

/** Whether the user has settings of Git. */
export const hasGitSettings = (home: string): boolean =>
  FILES.some((name) => lstatSync(join(home, name), { throwIfNoEntry: false }) !== undefined)

/** Writes the file into the folder, which the run reads. A means that mounts shows it instead of the user's files, others name it. */
export const writeGitSettings = (home: string, workspace: string, folder: string): GitSettingsFile => {
  const file = join(folder, "config")
  const text = FILES.map((name) => shownGitSettings(contentOf(join(home, name)))).join("")
  writeFileSync(file, text, { mode: 0o600 })
  return {
    mounts: [
      { kind: "read", path: folder },
      ...FILES.flatMap((name) => {
        const path = join(home, name)
        return !isWithin(workspace, path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true
          ? [{ kind: "read", path, source: file } as const]
          : []
      })
    ],
    env: { GIT_CONFIG_GLOBAL: file }
  }
}
