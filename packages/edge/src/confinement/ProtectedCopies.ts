/**
 * Copies of the protected folders of one confined run, which the run sees in their places. An edit that a user approved is made in the copy by
 * the runtime, and then in the workspace by the Edge: exactly the content that the approval showed (ADR 67). Of a run in a layer, the edits are
 * only collected: the workspace stays as it is.
 *
 * Guarantees: nothing that the run wrote reaches the workspace. Only a file that an approval names is written, with the content that follows from
 * its input or its patch, once the copy has this content, and only if the file did not change meanwhile. No link is followed.
 *
 * Does not: copy large folders, which stay read-only, or make edits whose content is not known, such as those of commands, and deletions.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ProtectedChange } from "@corral/domain/run/ProtectedChange"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { makeFolder } from "@corral/service/MakeFolder"
import { basename, dirname, join, posix, relative, sep } from "node:path"
import type { WorkspacePaths } from "../approval/PathTarget.ts"
import { approvedContent, MAX_CONTENT, patchedContent } from "./ApprovedFiles.ts"
import { type FileContent, OpenedFolder } from "./OpenedFolder.ts"
import { type StoredScan, changesBetween, scanOf, storedScan, uncovered } from "./ProtectedRecord.ts"
import { type ProtectedScan, ProtectedTree } from "./ProtectedTree.ts"
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"

// Read-only copy of a folder of a workspace, which may be hostile: the permissions of the copy allow no change until they are opened.
//
// Guarantees: no link is followed, and a copy is whole or not made. Files of several names become files of one.
// Does not: copy owners, times, or the samples of hooks, which no program runs.

/** What all copies of a run may still contain. */
interface CopyRoom {
  entries: number
  bytes: number
}

const MAX_DEPTH = 16
const HOOKS = "hooks"
const SAMPLE = ".sample"
const CLOSED_FOLDER = 0o555
/** Permissions of a file that no program changes. */
const closedFile = (mode: number): number => 0o444 | (mode & 0o111)

class TooLarge extends Error {}

const copyOpened = (folder: OpenedFolder, to: string, room: CopyRoom, depth: number): void => {
  if (depth > MAX_DEPTH) throw new TooLarge()
  mkdirSync(to, { mode: 0o700 })
  for (const { kind, name } of folder.entries()) {
    if (kind === "file" && name.endsWith(SAMPLE) && basename(to) === HOOKS) continue
    if (--room.entries < 0 || kind === "other" || name.includes("\uFFFD")) throw new TooLarge()
    const path = join(to, name)
    if (kind === "link") symlinkSync(folder.targetOfLink(name), path)
    else if (kind === "folder") folder.inside(name, (inner) => copyOpened(inner, path, room, depth + 1))
    else {
      const file = folder.readBytes(name, room.bytes)
      if (typeof file !== "object") throw new TooLarge()
      room.bytes -= file.bytes.length
      writeFileSync(path, file.bytes, { mode: closedFile(file.mode), flag: "wx" })
    }
  }
  chmodSync(to, CLOSED_FOLDER)
}

/** Copies a file. Returns whether it is one, and was copied. */
const copyFile = (
  root: string,
  names: ReadonlyArray<string>,
  to: string,
  room: CopyRoom
): boolean | undefined =>
  OpenedFolder.with(root, names.slice(0, -1), (folder) => {
    const file = folder.readBytes(names.at(-1) ?? "", room.bytes)
    if (typeof file !== "object") return false
    writeFileSync(to, file.bytes, { mode: closedFile(file.mode), flag: "wx" })
    return true
  })

/** Copies `names` of `root`, a folder or a file, to `to`, whose parent exists. Returns whether it was copied. */
const copyFolder = (root: string, names: ReadonlyArray<string>, to: string, room: CopyRoom): boolean => {
  try {
    const isCopied = OpenedFolder.with(root, names, (folder) => {
      copyOpened(folder, to, room, 0)
      return true
    })
    if (isCopied === true || copyFile(root, names, to, room) === true) return true
  } catch {
    // It is too large, changes meanwhile, or holds something else.
  }
  removeCopy(to)
  return false
}

/** Copies `names` of `root` to the same names of `folder`. Returns the copy, if it was made. */
const copyInto = (
  folder: string,
  root: string,
  names: ReadonlyArray<string>,
  room: Readonly<CopyRoom>
): string | undefined => {
  const copy = join(folder, ...names)
  makeFolder(dirname(copy))
  return copyFolder(root, names, copy, { ...room }) ? copy : undefined
}

const removeCopy = (to: string): void => {
  try {
    rmSync(to, { recursive: true, force: true })
  } catch {
    // A closed folder of an ordinary user. The end of the run removes it.
  }
}

const MAX_ENTRIES = 1_000
const MAX_BYTES = 2_097_152
/** Edits that are waited for. */
const MAX_EDITS = 100
const NEW_FILE = 0o644
const OPEN_FOLDER = 0o755
const OPEN_FILE = 0o644

type Found = FileContent | "missing"

/** An approved edit whose content the copy does not have yet. */
interface ApprovedEdit {
  readonly before: Found
  readonly after: string
}

const textOf = (found: Found): string | undefined => (found === "missing" ? undefined : found.text)

/** Folders of a run in a layer, in the folder of its copies: those that it sees, and what was there when it started. */
const SHOWN = "shown"
const FIRST = "first"

export interface ProtectedCopiesState {
  readonly folder: string
  /** Copy of what a layer had. */
  readonly layer?: string | undefined
  readonly copied: ReadonlyArray<string>
  readonly first: StoredScan | undefined
  readonly edits: ReadonlyArray<readonly [path: string, edit: ApprovedEdit]>
  readonly arrived: ReadonlyArray<readonly [path: string, text: string]>
}

/** Writes a file below `root`, whose folders are made. Returns whether it was written. */
const writeText = (root: string, path: string, content: FileContent): boolean => {
  const names = path.split("/")
  try {
    const write = (folder: OpenedFolder) => {
      folder.replace(names.at(-1) ?? "", content, "corral")
      return true
    }
    return OpenedFolder.with(root, names.slice(0, -1), write, true) === true
  } catch {
    // It is compared again, and reported at the end.
    return false
  }
}

/** Writes an edit into a layer whose files are at `top`. The permissions stay. Returns whether the layer has it. */
export const writeEdit = (top: string, path: string, text: string): boolean => {
  const names = path.split("/")
  const found = OpenedFolder.with(top, names.slice(0, -1), (folder) =>
    folder.read(names.at(-1) ?? "", MAX_CONTENT)
  )
  const before = typeof found === "object" ? found : undefined
  return before?.text === text || writeText(top, path, { text, mode: before?.mode ?? NEW_FILE })
}

export class ProtectedCopies {
  readonly #place: WorkspacePaths
  readonly #now: () => number
  #folder = ""
  /** Copy of what a layer had when the run started; `undefined` without a layer. */
  #layer: string | undefined
  /** Copied folders, relative to the workspace. */
  #copied: ReadonlyArray<string> = []
  #tree: ProtectedTree | undefined
  #first: ProtectedScan | undefined
  readonly #edits = new Map<string, ApprovedEdit>()
  /** Contents that the workspace received, or that a layer receives at the end of the run. */
  readonly #arrived = new Map<string, string>()

  constructor(place: WorkspacePaths, now: () => number) {
    this.#place = place
    this.#now = now
  }

  /**
   * Copies into `folder`, which is empty. Returns the copies, by the paths of the folders. A folder without a copy stays read-only. `look`: where
   * the files of the run's layer are read.
   */
  make(folder: string, folders: ReadonlyArray<string>, look?: string): ReadonlyMap<string, string> {
    const { root } = this.#place
    this.#folder = look === undefined ? folder : join(folder, SHOWN)
    this.#layer = look === undefined ? undefined : join(folder, FIRST)
    const room = { entries: MAX_ENTRIES, bytes: MAX_BYTES }
    const copies = new Map<string, string>()
    for (const path of folders) {
      const names = relative(root, path).split(sep)
      if (names[0] === "..") continue
      const isThere = look === undefined || copyInto(this.#root, look, names, room) !== undefined
      const copy = isThere ? copyInto(this.#folder, this.#root, names, room) : undefined
      if (copy !== undefined) copies.set(path, copy)
    }
    this.#copied = [...copies.keys()].map((path) => relative(root, path))
    this.#tree = new ProtectedTree(this.#folder, this.#now)
    this.#first = this.#scan()
    return copies
  }

  /** The files as they are without the copies. */
  get #root(): string {
    return this.#layer ?? this.#place.root
  }

  /** Edits that a layer receives: contents by their paths. */
  get edits(): ReadonlyMap<string, string> {
    return this.#arrived
  }

  get state(): ProtectedCopiesState {
    return {
      folder: this.#folder,
      layer: this.#layer,
      copied: this.#copied,
      first: this.#first && storedScan(this.#first),
      edits: [...this.#edits],
      arrived: [...this.#arrived]
    }
  }

  /** Continues with the copies of an earlier Edge. */
  restore({ arrived, copied, edits, first, folder, layer }: ProtectedCopiesState): void {
    this.#folder = folder
    this.#layer = layer
    this.#copied = copied
    this.#first = first && scanOf(first)
    for (const [path, edit] of edits) this.#edits.set(path, edit)
    for (const [path, text] of arrived) this.#arrived.set(path, text)
  }

  /** Opens the copy of the file that an allowed write names, if the content after it is known. */
  allow(request: ApprovalRequest, { decision, updatedInput }: ApprovalAnswer): void {
    const { action, command, files = [], input, patch, readsOnly } = request
    const [file] = files
    if (decision !== "allow" || action !== "write" || command !== undefined || readsOnly === true) return
    if (file === undefined || files.length !== 1 || this.#edits.size >= MAX_EDITS) return
    const target = this.#place.look().targetOf(file)
    // The name that the user read, not one that leads to it by a link.
    if (target._tag !== "Inside" || posix.normalize(file) !== target.path) return
    const { path } = target
    if (!this.#copied.some((copy) => path === copy || path.startsWith(`${copy}/`))) return
    const [before, copy] = [this.#readNow(path), this.#readFrom(this.#folder, path)]
    if (before === undefined || copy === undefined || textOf(before) !== textOf(copy)) return
    const content = textOf(before)
    // An edited input is not what the patch shows.
    const shown = updatedInput === undefined ? patch : undefined
    const after =
      approvedContent(updatedInput ?? input, content) ?? (shown && patchedContent(shown, path, content))
    if (after === undefined || after.length > MAX_CONTENT) return
    this.#edits.set(path, { before, after })
    this.#setModes(path, OPEN_FOLDER, (mode) => OPEN_FILE | (mode & 0o111))
  }

  /** Makes the approved edits that the runtime has made in the copy. */
  settle(): void {
    for (const [path, { after, before }] of this.#edits) {
      if (this.#textIn(this.#folder, path) !== after) continue
      const now = this.#readNow(path)
      if (now === undefined || textOf(now) !== textOf(before)) continue
      const mode = before === "missing" ? NEW_FILE : before.mode
      if (this.#layer === undefined && !writeText(this.#place.root, path, { text: after, mode })) continue
      this.#edits.delete(path)
      this.#arrived.set(path, after)
      this.#setModes(path, CLOSED_FOLDER, closedFile)
    }
  }

  /** Changes of the copies that did not reach the workspace. */
  discarded(): ReadonlyArray<ProtectedChange> {
    if (this.#first === undefined) return []
    const changes = changesBetween(this.#first, this.#scan())
    return uncovered(changes, (path) => this.#hasArrived(path)).map((change) => ({
      ...change,
      discarded: true
    }))
  }

  /** Whether the copy of a file has the content that the workspace has, as far as an approval names it. */
  #hasArrived(path: string): boolean {
    const [arrived, edit] = [this.#arrived.get(path), this.#edits.get(path)]
    const expected = edit === undefined ? arrived : textOf(edit.before)
    return expected !== undefined && this.#textIn(this.#folder, path) === expected
  }

  /** The file in the workspace, or in the layer with the edits that it receives. */
  #readNow(path: string): Found | undefined {
    const text = this.#layer === undefined ? undefined : this.#arrived.get(path)
    return text === undefined ? this.#readFrom(this.#root, path) : { text, mode: NEW_FILE }
  }

  /** `undefined` if it is not a file of text. */
  #readFrom(root: string, path: string): Found | undefined {
    const names = path.split("/")
    try {
      const folder = names.slice(0, -1)
      const found = OpenedFolder.with(root, folder, (opened) => ({
        file: opened.read(names.at(-1) ?? "", MAX_CONTENT)
      }))
      return found === undefined ? "missing" : found.file
    } catch {
      return undefined
    }
  }

  #textIn(root: string, path: string): string | undefined {
    const found = this.#readFrom(root, path)
    return found === undefined ? undefined : textOf(found)
  }

  /** Sets the permissions of a file's copy and of the last folder on its path that exists. */
  #setModes(path: string, folderMode: number, fileMode: (mode: number) => number): void {
    const names = path.split("/")
    for (let depth = names.length - 1; depth >= 0; depth--) {
      try {
        const found = OpenedFolder.with(this.#folder, names.slice(0, depth), (folder) => {
          folder.setMode(folderMode)
          const file = depth === names.length - 1 ? folder.read(names[depth] ?? "", MAX_CONTENT) : "missing"
          if (typeof file === "object") folder.setFileMode(names[depth] ?? "", fileMode(file.mode))
          return true
        })
        if (found === true) return
      } catch {
        // The run changed it meanwhile. The copy is compared later.
        return
      }
    }
  }

  #scan(): ProtectedScan {
    const steps = (this.#tree ??= new ProtectedTree(this.#folder, this.#now)).scan()
    for (;;) {
      const { done, value } = steps.next()
      if (done === true) return value
    }
  }
}
