/**
 * What a workspace holds that makes a runtime execute something, as the runtime's adapter names it.
 *
 * Owns the look: bounded, by name, links included. Reads contents only for rules that forbid and for instructions. It says what exists when it
 * looks; a file that appears after the start is not found.
 */
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type {
  ProjectFile,
  ProjectSettings,
  ProjectSettingsReport,
  ProjectSettingsUse
} from "@corral/domain/run/ProjectSettings"
import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, readSync } from "node:fs"
import { dirname, join, relative } from "node:path"

const MAX_BYTES = 262_144
/** Rules are handed over as one argument, which Linux limits to 128 KiB. */
const MAX_RULES = 65_536
/** Folders between a workspace and the root of its repository. */
const MAX_LEVELS = 32

/** The folder, and those around it up to its repository's root: runtimes look there, too. */
const foldersOf = (root: string): ReadonlyArray<string> => {
  const folders = [root]
  for (let at = root; folders.length <= MAX_LEVELS; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return folders
    if (dirname(at) === at) break
    folders.push(dirname(at))
  }
  // In no repository.
  return [root]
}

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** Of a regular file of at most 256 KiB; `undefined` for anything else. */
const textOf = (path: string): string | undefined => {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(descriptor)
    if (!stat.isFile() || stat.size > MAX_BYTES) return undefined
    const bytes = Buffer.alloc(MAX_BYTES)
    return bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, MAX_BYTES, 0))
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

interface FoundFile extends ProjectFile {
  /** From the workspace, so one around it begins with `../`. */
  readonly at: string
}

export class ProjectFiles {
  private readonly settings: ProjectSettings
  private readonly root: string
  private readonly use: ProjectSettingsUse
  /** Where the files are read. */
  private readonly look: string

  /** `root`: real path of the folder that the run works in. `look`: where the Edge reads its files, if elsewhere. */
  constructor(settings: ProjectSettings, root: string, use: ProjectSettingsUse, look = root) {
    this.settings = settings
    this.root = root
    this.use = use
    this.look = look
  }

  private get found(): ReadonlyArray<FoundFile> {
    return foldersOf(this.look).flatMap((folder) =>
      this.settings.files
        .filter(({ path }) => exists(join(folder, path)))
        .map((file) => ({ ...file, at: relative(this.look, join(folder, file.path)) }))
    )
  }

  /** `undefined` where there is nothing to report. */
  get report(): ProjectSettingsReport | undefined {
    const files = this.found.map(({ at }) => at)
    return files.length === 0 ? undefined : { use: this.use, files }
  }

  /** Why the runtime cannot be started here. `environment` is what it would see. */
  refusal(label: string, environment: Readonly<Record<string, string>>): PermissionDenied | undefined {
    if (this.use === "enabled") return undefined
    const trusted = this.isTrusted(environment)
    const files = this.found.filter(({ unavoidable }) => trusted || unavoidable === true).map(({ at }) => at)
    const [first] = files
    if (first === undefined) return this.unreadableRules(label)
    const more = files.length === 1 ? "" : ` and ${files.length - 1} more`
    return new PermissionDenied({
      message: `${label} would execute what the project's settings say (${first}${more}), and can't be started without them. Remove the files, or grant project_settings to the workspace.`,
      details: { reason: "project_settings", files: files.slice(0, 20) }
    })
  }

  /** Rules of the project that forbid. */
  get denyRules(): ReadonlyArray<string> {
    return this.use === "enabled" ? [] : this.ruleFiles.flatMap(({ rules }) => rules ?? [])
  }

  /** The prompt, with the instructions before it that the runtime does not read itself. */
  withInstructions(prompt: string): string {
    const { instructions = [] } = this.settings
    if (this.use === "enabled") return prompt
    const texts = instructions.flatMap((name) => {
      const text = textOf(join(this.look, name))
      return text === undefined || text.trim() === ""
        ? []
        : [`Instructions of this project (${name}):\n\n${text.trim()}`]
    })
    return [...texts, prompt].join("\n\n---\n\n")
  }

  private isTrusted(environment: Readonly<Record<string, string>>): boolean {
    const { trust } = this.settings
    if (trust === undefined) return false
    const home = environment[trust.homeVariable] ?? join(environment["HOME"] ?? "/", trust.defaultHome)
    const path = join(home, trust.file)
    if (!exists(path)) return false
    const text = textOf(path)
    return text === undefined || trust.trusts(text, this.root)
  }

  private get ruleFiles(): ReadonlyArray<{
    readonly name: string
    readonly rules: ReadonlyArray<string> | undefined
  }> {
    const { denyRules } = this.settings
    if (denyRules === undefined) return []
    return denyRules.files
      .filter((name) => exists(join(this.look, name)))
      .map((name) => {
        const text = textOf(join(this.look, name))
        const rules = text === undefined ? undefined : denyRules.read(text)
        return { name, rules: JSON.stringify(rules ?? []).length > MAX_RULES ? undefined : rules }
      })
  }

  /** A file whose rules are not known would be ignored whole, with what it forbids. */
  private unreadableRules(label: string): PermissionDenied | undefined {
    const unread = this.ruleFiles.find(({ rules }) => rules === undefined)
    return unread === undefined
      ? undefined
      : new PermissionDenied({
          message: `The rules in ${unread.name} can't be read, so ${label} can't be held to what they forbid. Correct the file, or grant project_settings to the workspace.`,
          details: { reason: "project_settings", files: [unread.name] }
        })
  }
}
