/**
 * Change of several files of a folder, all or none, while other programs may write there.
 *
 * New versions are written beside, in a folder with the decision's id. Then each old version is moved there, and each new one gets the name with a
 * hard link, which fails if the name exists. So a version that a person has written is never replaced: it is moved aside and compared, or blocks.
 * A new version that has its name is no longer beside: what has the name while it is, was written while there was no file.
 *
 * Guarantees: what `plan` says is on disk before `apply`. From that and from the folder, `reverse` restores the versions before, at any later time,
 * also after a crash, of a reversal too. What a person has written meanwhile stays: it is merged, or left as it is.
 * Does not: keep an edit that a program makes through a descriptor of an old version after the last comparison.
 */
import { Effect } from "effect"
import type { Stats } from "node:fs"
import { GitFailed, attemptFiles } from "../workspace/Git.ts"
import { entryFound, type FileStep, isSameEntry, type TransactionPlan } from "./TransactionPlan.ts"
import {
  codeOf,
  type FileOperations,
  FolderFiles,
  folderOfPath,
  foldersAround,
  joinPath,
  LINK,
  PROGRAM
} from "./FolderFiles.ts"

/** What a transaction needs from its owner. */
export interface TransactionContents {
  readonly read: (id: string) => Effect.Effect<Buffer, GitFailed>
  /** Calls `use` with each of these contents. */
  readonly each: (
    ids: ReadonlyArray<string>,
    use: (id: string, content: Buffer) => Effect.Effect<void, GitFailed>
  ) => Effect.Effect<void, GitFailed>
  /** The merged content; `undefined` if the versions cannot be merged. */
  readonly merge: (base: Buffer, ours: Buffer, theirs: Buffer) => Effect.Effect<Buffer | undefined, GitFailed>
}

/** Begins the names of folders that a decision writes beside the files. Snapshots ignore them. */
export const BESIDE = ".corral-"

const MAX_MERGED = 33_554_432
/** End of the name of a person's version that has no other place. */
const SAVED = ".before"
/** Bytes of a name. */
const MAX_NAME = 255
/** Such versions of one file. */
const MAX_SAVED = 1_000
const FOLDER_MODE = 0o777
/** New files of such a folder get its group. */
const SET_GROUP_ID = 0o2000

/** A step could not be done, because another program changed the folder meanwhile. */
class FolderChanged extends Error {
  readonly path: Buffer

  constructor(path: Buffer) {
    super("a file was changed meanwhile")
    this.path = path
  }
}

export class FileTransaction {
  readonly #plan: TransactionPlan
  readonly #files: FolderFiles
  readonly #operations: FileOperations
  readonly #contents: TransactionContents

  constructor(
    plan: TransactionPlan,
    folder: string,
    operations: FileOperations,
    contents: TransactionContents
  ) {
    this.#plan = plan
    this.#files = new FolderFiles(folder)
    this.#operations = operations
    this.#contents = contents
  }

  /** Writes the new versions beside. */
  readonly stage: Effect.Effect<void, GitFailed> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      const { steps } = this.#plan
      yield* attemptFiles(() => {
        for (const beside of this.#besides())
          this.#do(this.#folder(beside), (path) => this.#operations.makeFolder(path, 0o700))
      })
      const wanted = new Map<string, Array<readonly [at: number, mode: string]>>()
      for (const [at, { after }] of steps.entries())
        if (after !== undefined) wanted.set(after.id, [...(wanted.get(after.id) ?? []), [at, after.mode]])
      yield* this.#contents.each([...wanted.keys()], (id, content) =>
        Effect.andThen(
          attemptFiles(() => {
            for (const [at, mode] of wanted.get(id) ?? []) this.#write(at, content, mode)
          }),
          Effect.yieldNow
        )
      )
      yield* attemptFiles(() => {
        for (const beside of this.#besides()) {
          this.#do(this.#folder(beside), (path) => this.#operations.sync(path))
          this.#do(beside, (path) => this.#operations.sync(path))
        }
      })
    })
  )

  /**
   * Does the steps. Succeeds with `undefined` if they are done and on disk, or with the path at which another program has changed the folder.
   * A changed file is away only while it is replaced.
   */
  readonly apply: Effect.Effect<Buffer | undefined, GitFailed> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      const { cleared, created, steps } = this.#plan
      yield* inTurns(steps, ({ after, before, path }, at) => {
        if (before === undefined || after === undefined) return
        this.#setAside(at, path)
        this.#place(at, path)
      })
      yield* inTurns(steps, ({ after, before, path }, at) => {
        if (before !== undefined && after === undefined) this.#setAside(at, path)
      })
      yield* inTurns(cleared, (folder) => this.#removeFolder(folder))
      yield* inTurns(created, (folder) => this.#makeFolder(folder))
      yield* inTurns(steps, ({ after, before, path }, at) => {
        if (before === undefined && after !== undefined) this.#place(at, path)
      })
      yield* inTurns(steps, ({ before, path }, at) => {
        if (before !== undefined && !isSameEntry(before, entryFound(this.#files.look(this.#old(at)))))
          throw new FolderChanged(path)
      })
      yield* inTurns(this.#changedFolders, (folder) => this.#syncFolder(folder))
      return undefined
    }).pipe(
      Effect.catch((failure) =>
        failure instanceof FolderChanged ? Effect.succeed(failure.path) : Effect.fail(failure)
      )
    )
  )

  /**
   * Restores the versions before, on disk. Succeeds with the paths that a person has changed in a way that cannot be merged. What is beside stays: from
   * it, a reversal that ended in the middle is done again.
   */
  readonly reverse: Effect.Effect<ReadonlyArray<Buffer>, GitFailed> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      const { cleared, created, steps } = this.#plan
      const left: Array<Buffer> = []
      for (const [at, step] of steps.entries())
        if ((yield* attemptFiles(() => this.#take(at, step))) && !(yield* this.#takeApart(at, step)))
          left.push(step.path)
      yield* attemptFiles(() => {
        for (const folder of created.toReversed()) this.#removeEmpty(folder)
        for (const folder of cleared.toReversed()) this.#makeFolderAgain(folder)
        for (const [at, { before, path }] of steps.entries()) {
          if (before === undefined || this.#files.look(this.#old(at)).kind === "absent") continue
          if (this.#putBack(at, path)) continue
          // A person has written another version meanwhile. What they wrote before may be in this one only.
          this.#save(at, this.#old(at))
          if (!left.includes(path)) left.push(path)
        }
        for (const folder of [...this.#changedFolders, ...this.#besides()]) this.#syncFolder(folder)
      })
      return left
    })
  )

  /**
   * Whether the folder is missing, or empty although it had files: as a disk that is not mounted yet. `isDone`: the files are those after the steps.
   */
  isAway(isDone: boolean): boolean {
    const top = Buffer.alloc(0)
    if (this.#files.stat(top)?.isDirectory() !== true) return true
    const { steps, wasEmpty } = this.#plan
    const hasFiles = isDone ? steps.some(({ after }) => after !== undefined) : !wasEmpty
    return hasFiles && this.#files.list(top).length === 0
  }

  /** Removes the versions beside, and folders that became empty. */
  readonly finish: Effect.Effect<void, GitFailed> = Effect.suspend(() =>
    Effect.andThen(
      this.removeBeside,
      inTurns(this.#plan.steps, ({ after, path }) => {
        if (after !== undefined) return
        for (const folder of foldersAround(path).toReversed()) if (!this.#removeEmpty(folder)) break
      })
    ).pipe(Effect.mapError(gitFailure))
  )

  /** Removes what is beside. */
  readonly removeBeside: Effect.Effect<void, GitFailed> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      for (const beside of this.#besides()) {
        const folder = this.#folder(beside)
        const found = yield* attemptFiles(() => this.#files.list(folder))
        yield* inTurns(found, ({ path }) => this.#do(path, (absolute) => this.#operations.remove(absolute)))
        yield* attemptFiles(() => {
          if (this.#files.stat(folder) === undefined) return
          this.#do(folder, (path) => this.#operations.sync(path))
          this.#removeEmpty(folder)
          this.#do(beside, (path) => this.#operations.sync(path))
        })
      }
    }).pipe(Effect.mapError(gitFailure))
  )

  #besides(): ReadonlyArray<Buffer> {
    const found = new Map(this.#plan.steps.map(({ beside }) => [beside.toString("latin1"), beside]))
    return [...found.values()]
  }

  #folder(beside: Buffer): Buffer {
    return joinPath(beside, `${BESIDE}${this.#plan.id}`)
  }

  #named(at: number, end: string): Buffer {
    return joinPath(this.#folder(this.#plan.steps[at]?.beside ?? Buffer.alloc(0)), `${at}.${end}`)
  }

  #old(at: number): Buffer {
    return this.#named(at, "old")
  }

  #new(at: number): Buffer {
    return this.#named(at, "new")
  }

  /** A version that is being taken back. */
  #taken(at: number): Buffer {
    return this.#named(at, "taken")
  }

  #do<A>(path: Buffer, use: (absolute: Buffer) => A): A {
    const done = this.#files.at(path, (absolute) => ({ result: use(absolute) }))
    if (done === "missing" || done === "blocked") throw new FolderChanged(path)
    return done.result
  }

  /** Does something with two names. */
  #move(from: Buffer, to: Buffer, use: (from: Buffer, to: Buffer) => void): void {
    this.#do(from, (source) => this.#do(to, (target) => use(source, target)))
  }

  /** With the permissions and the owner of the version before, as far as the mode allows. */
  #write(at: number, content: Buffer, mode: string): void {
    const step = this.#plan.steps[at]
    const before = step?.before === undefined ? undefined : this.#files.stat(step.path)
    const path = this.#new(at)
    if (mode === LINK) this.#do(path, (absolute) => this.#operations.writeLink(absolute, content))
    else
      this.#do(path, (absolute) =>
        this.#operations.write(absolute, content, permissionsOf(mode, before), before?.isFile() === true)
      )
    this.#giveTo(path, before, before ?? this.#ownerAround(step?.path ?? path))
  }

  /** Gives a version the owner of the version before, or the one that a new file has. */
  #giveTo(path: Buffer, before: Stats | undefined, owner: Stats | undefined): void {
    if (owner === undefined) return
    const [uid, gid] = [process.getuid?.(), process.getgid?.()]
    if (uid === undefined || (owner.uid === uid && owner.gid === gid)) return
    // Only root gives files away. Others keep the group of a version, or that which a folder gives to its files, if they are in it.
    const keepsGroup = before !== undefined || (owner.mode & SET_GROUP_ID) !== 0
    if (uid !== 0 && !(keepsGroup && process.getgroups?.().includes(owner.gid) === true)) return
    this.#do(path, (absolute) => this.#operations.giveTo(absolute, uid === 0 ? owner.uid : uid, owner.gid))
  }

  /** A new file belongs to whom its folder belongs. */
  #ownerAround(path: Buffer): Stats | undefined {
    for (const folder of foldersAround(path).toReversed()) {
      const stats = this.#files.stat(folder)
      if (stats !== undefined) return stats
    }
    return this.#files.stat(Buffer.alloc(0))
  }

  #setAside(at: number, path: Buffer): void {
    try {
      this.#move(path, this.#old(at), this.#operations.rename)
    } catch (cause) {
      throw codeOf(cause) === "ENOENT" ? new FolderChanged(path) : cause
    }
  }

  #place(at: number, path: Buffer): void {
    try {
      this.#name(this.#new(at), path)
      // A file system without hard links has moved it.
      if (this.#files.stat(this.#new(at)) !== undefined) this.#do(this.#new(at), this.#operations.remove)
    } catch (cause) {
      throw ["EEXIST", "ENOENT", "ENOTDIR"].includes(codeOf(cause)) ? new FolderChanged(path) : cause
    }
  }

  /** Gives a version beside the name `path`, which must not exist. */
  #name(version: Buffer, path: Buffer): void {
    try {
      this.#move(version, path, this.#operations.link)
    } catch (cause) {
      if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK"].includes(codeOf(cause))) throw cause
      // A file system without hard links.
      if (this.#files.look(path).kind !== "absent") throw new FolderChanged(path)
      this.#move(version, path, this.#operations.rename)
    }
  }

  /** What was moved out of it is on disk before it is removed. */
  #removeFolder(folder: Buffer): void {
    try {
      this.#do(folder, (path) => this.#operations.sync(path))
      this.#do(folder, (path) => this.#operations.removeFolder(path))
    } catch (cause) {
      throw ["ENOTEMPTY", "EEXIST", "ENOTDIR", "ENOENT"].includes(codeOf(cause))
        ? new FolderChanged(folder)
        : cause
    }
  }

  /** Whether the folder is gone. */
  #removeEmpty(folder: Buffer): boolean {
    const isEmpty = this.#files.stat(folder)?.isDirectory() === true && this.#files.list(folder).length === 0
    if (!isEmpty) return false
    try {
      this.#do(folder, (path) => this.#operations.removeFolder(path))
      return true
    } catch (cause) {
      if (["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR", "EBUSY"].includes(codeOf(cause))) return false
      throw cause
    }
  }

  #makeFolder(folder: Buffer): void {
    try {
      this.#do(folder, (path) => this.#operations.makeFolder(path, FOLDER_MODE))
    } catch (cause) {
      if (codeOf(cause) !== "EEXIST") throw cause
    }
  }

  /** A person may have moved the folder around it, or written a file there. */
  #makeFolderAgain(folder: Buffer): void {
    try {
      this.#makeFolder(folder)
    } catch (cause) {
      if (!(cause instanceof FolderChanged)) throw cause
    }
  }

  /** Whether the path has the new version, or one that a person made of it. */
  #isReplaced(at: number, { after, before, path }: FileStep): boolean {
    const now = this.#files.stat(path)
    if (after === undefined || now === undefined || now.isDirectory()) return false
    if (this.#files.stat(this.#new(at)) !== undefined) return this.#isSameFile(this.#new(at), path)
    return before === undefined
      ? isSameEntry(after, entryFound(this.#files.look(path)))
      : this.#files.stat(this.#old(at)) !== undefined && !this.#isSameFile(this.#old(at), path)
  }

  /** Takes a new version out of its place. Whether it is taken: not if there is none, or if a person has written a file since it was taken. */
  #take(at: number, step: FileStep): boolean {
    const { after, path } = step
    const taken = this.#taken(at)
    if (this.#files.stat(taken) !== undefined) {
      // An earlier reversal has ended here.
      if (this.#files.look(path).kind === "absent") return true
      if (!this.#isSameFile(taken, path)) {
        const isRestored = this.#isSameFile(this.#old(at), path)
        if (!isRestored && !isSameEntry(after, entryFound(this.#files.look(taken)))) this.#save(at, taken)
        return false
      }
      // It was returned. Two names of one file cannot replace each other.
      this.#syncFolder(folderOfPath(path))
      this.#do(taken, this.#operations.remove)
    }
    if (!this.#isReplaced(at, step)) return false
    try {
      this.#move(path, taken, this.#operations.rename)
      return true
    } catch (cause) {
      if (codeOf(cause) === "ENOENT") return false
      throw cause
    }
  }

  /**
   * Takes the change out of a taken version. One that a person has edited becomes their edit of the version before, if that can be merged; otherwise it
   * is returned.
   */
  #takeApart(at: number, step: FileStep): Effect.Effect<boolean, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const { after, before } = step
      const taken = this.#taken(at)
      const found = yield* attemptFiles(() => entryFound(this.#files.look(taken)))
      if (isSameEntry(found, after)) return true
      const isMergeable = [before, after, found].every((entry) => entry !== undefined && entry.mode !== LINK)
      const [ours, theirs] = yield* attemptFiles(() => [
        this.#files.read(taken, MAX_MERGED),
        this.#files.read(this.#old(at), MAX_MERGED)
      ])
      const merged =
        isMergeable && after !== undefined && ours !== undefined && theirs !== undefined
          ? yield* this.#contents.merge(yield* this.#contents.read(after.id), ours, theirs)
          : undefined
      return yield* attemptFiles(() => {
        if (merged === undefined) this.#return(at, step)
        else this.#replaceOld(at, merged, found?.mode === after?.mode ? this.#old(at) : taken)
        return merged !== undefined
      })
    })
  }

  /** Gives the version before another content, with the permissions and the owner of `like`. */
  #replaceOld(at: number, content: Buffer, like: Buffer): void {
    const version = this.#named(at, "merged")
    const stats = this.#files.stat(like)
    // An earlier reversal has ended here.
    if (this.#files.stat(version) !== undefined) this.#do(version, this.#operations.remove)
    this.#do(version, (absolute) =>
      this.#operations.write(absolute, content, (stats?.mode ?? 0o644) & 0o777, true)
    )
    this.#giveTo(version, stats, stats)
    this.#move(version, this.#old(at), this.#operations.rename)
  }

  /** Gives a version its name again, unless there is none or a person has written another one. */
  #putBack(at: number, path: Buffer): boolean {
    return this.#files.stat(this.#old(at)) !== undefined && this.#tryName(this.#old(at), path)
  }

  /** Gives a version the name, and whether it has it: not if the name is in use, or its folder is not there. */
  #tryName(version: Buffer, path: Buffer): boolean {
    try {
      this.#name(version, path)
      return true
    } catch (cause) {
      if (cause instanceof FolderChanged || ["EEXIST", "ENOENT", "ENOTDIR"].includes(codeOf(cause)))
        return this.#isSameFile(version, path)
      throw cause
    }
  }

  /** Returns what was taken. If the person has written yet another version meanwhile, both stay. */
  #return(at: number, { path }: FileStep): void {
    if (!this.#tryName(this.#taken(at), path)) this.#save(at, this.#taken(at))
  }

  /** Gives a person's version a name that is free: next to its place, or where the folder of that is gone, next to the version. */
  #save(at: number, version: Buffer): void {
    const step = this.#plan.steps[at]
    if (step === undefined) return
    const { beside, path } = step
    const folder = folderOfPath(path)
    const name = folder.length === 0 ? path : path.subarray(folder.length + 1)
    for (const place of [path, joinPath(beside, name)])
      for (let number = 1; number <= MAX_SAVED; number++) {
        const saved = withEnd(place, Buffer.from(number === 1 ? SAVED : `${SAVED}.${number}`))
        if (this.#tryName(version, saved)) return
        if (this.#files.stat(saved) === undefined) break
      }
    throw new Error("no free name for a version of a file that a person has written")
  }

  #isSameFile(one: Buffer, other: Buffer): boolean {
    const [a, b] = [this.#files.stat(one), this.#files.stat(other)]
    return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
  }

  /** Folders whose entries the steps change, and those beside. */
  get #changedFolders(): ReadonlyArray<Buffer> {
    const folders = new Map(
      this.#plan.steps.map(({ path }) => [folderOfPath(path).toString("latin1"), folderOfPath(path)])
    )
    const around = [...this.#plan.created, ...this.#plan.cleared].map(folderOfPath)
    return [...folders.values(), ...around, ...this.#besides().map((each) => this.#folder(each))]
  }

  /** A person may have moved it away. */
  #syncFolder(folder: Buffer): void {
    if (this.#files.stat(folder)?.isDirectory() !== true) return
    try {
      this.#do(folder, (path) => this.#operations.sync(path))
    } catch (cause) {
      if (!(cause instanceof FolderChanged) && codeOf(cause) !== "ENOENT") throw cause
    }
  }
}

/** Steps that are done before other work of this process gets its turn. */
const AT_ONCE = 64

/** Does the work for each, one after the other. */
const inTurns = Effect.fnUntraced(function* <A>(
  all: ReadonlyArray<A>,
  work: (each: A, at: number) => void
): Effect.fn.Return<void, GitFailed | FolderChanged> {
  for (let start = 0; start < all.length; start += AT_ONCE) {
    yield* Effect.try({
      try: () => {
        for (const [at, each] of all.slice(start, start + AT_ONCE).entries()) work(each, start + at)
      },
      catch: (cause) => (cause instanceof FolderChanged ? cause : new GitFailed({ message: String(cause) }))
    })
    yield* Effect.yieldNow
  }
})

/** The path with an end of its name, which is shortened between two characters if there is no room. */
const withEnd = (path: Buffer, end: Buffer): Buffer => {
  const start = path.lastIndexOf("/") + 1
  let length = Math.min(path.length, start + MAX_NAME - end.length)
  // A byte inside a character of UTF-8.
  while (length > start + 1 && length < path.length && ((path[length] ?? 0) & 0xc0) === 0x80) length--
  return Buffer.concat([path.subarray(0, length), end])
}

const gitFailure = (failure: GitFailed | FolderChanged): GitFailed =>
  failure instanceof FolderChanged ? new GitFailed({ message: String(failure) }) : failure

/** Permissions of a new version. */
const permissionsOf = (mode: string, before: Stats | undefined): number => {
  if (before === undefined || before.isSymbolicLink()) return mode === PROGRAM ? 0o777 : 0o666
  const bits = before.mode & 0o777
  if (mode !== PROGRAM) return bits & ~0o111
  // Who may read it may run it.
  return bits | 0o100 | ((bits & 0o444) >> 2)
}
