/**
 * Sign-ins of a runtime, exchanged between the user's state and the private states of its live runs.
 *
 * Folders are watched, and each file is looked at once a second, because a watch can lose events.
 *
 * Guarantees: a token that one of them renews is in all others within a second, and the newer one wins. Of a run's file, only the texts and the time of a token that the user's file already has
 * are taken over, if the time is newer and plausible: a run adds no account, server or address, and nothing else of the user's file changes. A file that the user changes or removes is the
 * same in all live runs. Only regular files of up to 64 KiB are read, and no link is followed.
 *
 * Does not: know whether a token is valid, or whose it is.
 */
import type { CredentialFile, JsonPath, RenewedToken } from "@corral/domain/run/RuntimeFolders"
import { isJsonObject, type JsonObject } from "@corral/domain/text/JsonObject"
import { randomUUID } from "node:crypto"
import { type FSWatcher, lstatSync, watch } from "node:fs"
import { basename, dirname, join } from "node:path"
import { OpenedFolder } from "./OpenedFolder.ts"
import { MAX_CREDENTIAL_BYTES } from "./StateLayer.ts"

const MAX_TEXT = 32_768
const DAY_MS = 86_400_000
const MAX_EXPIRY_MS = 400 * DAY_MS
const MAX_SKEW_MS = 300_000
/** Times before it are in seconds. */
const FIRST_MILLIS = 100_000_000_000

const parsed = (text: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether a file is one of sign-ins at all. */
const isCredentialFile = (text: string): boolean => parsed(text) !== undefined

const member = (value: unknown, name: string): unknown =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

const valueAt = (document: unknown, path: JsonPath): unknown => path.reduce<unknown>(member, document)

const setAt = (document: JsonObject, path: JsonPath, value: unknown): void => {
  const around = valueAt(document, path.slice(0, -1))
  const name = path.at(-1)
  if (isJsonObject(around) && name !== undefined && Object.hasOwn(around, name))
    Reflect.set(around, name, value)
}

/** Unix milliseconds. */
const millisOf = (value: unknown): number | undefined => {
  if (typeof value === "string") {
    const millis = Date.parse(value)
    return Number.isNaN(millis) ? undefined : millis
  }
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined
  return value < FIRST_MILLIS ? value * 1_000 : value
}

const withName = (path: JsonPath, name: string): JsonPath => path.map((part) => (part === "*" ? name : part))

/** The token's paths in the document: one for each member where a path has a star. */
const tokensIn = (document: JsonObject, token: RenewedToken): ReadonlyArray<RenewedToken> => {
  const star = token.time.indexOf("*")
  if (star === -1) return [token]
  const around = valueAt(document, token.time.slice(0, star))
  return Object.keys(isJsonObject(around) ? around : {}).map((name) => ({
    ...token,
    values: token.values.map((path) => withName(path, name)),
    time: withName(token.time, name)
  }))
}

const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= MAX_TEXT

/** Takes over one token, if it is newer. Returns whether it was. */
const takeOver = (
  into: JsonObject,
  from: JsonObject,
  { time, timeIs, values }: RenewedToken,
  now: number
): boolean => {
  const [before, after] = [valueAt(into, time), valueAt(from, time)]
  const [old, renewed] = [millisOf(before), millisOf(after)]
  if (old === undefined || renewed === undefined || typeof before !== typeof after) return false
  const latest = now + (timeIs === "renewal" ? MAX_SKEW_MS : MAX_EXPIRY_MS)
  if (renewed <= old || renewed > latest) return false
  const present = values.filter((path) => typeof valueAt(into, path) === "string")
  if (present.length === 0 || !present.every((path) => isText(valueAt(from, path)))) return false
  for (const path of present) setAt(into, path, valueAt(from, path))
  setAt(into, time, after)
  return true
}

/** The file with the newest tokens of all; the same text if it has them. */
export const mergedCredentials = (
  text: string,
  others: ReadonlyArray<string>,
  tokens: ReadonlyArray<RenewedToken>,
  now: number
): string => {
  const document = parsed(text)
  if (document === undefined) return text
  let isChanged = false
  for (const other of others) {
    const from = other === text ? undefined : parsed(other)
    if (from === undefined) continue
    for (const token of tokens)
      for (const each of tokensIn(document, token))
        isChanged = takeOver(document, from, each, now) || isChanged
  }
  return isChanged ? `${JSON.stringify(document, undefined, text.includes("\n") ? 2 : undefined)}\n` : text
}

const LOOK_MS = 1_000
/** Time in which several changes count as one. */
const SETTLE_MS = 50
const PRIVATE = 0o600

/** `undefined` if there is something that is no file of sign-ins, or that is being written. */
type Found = string | "missing" | undefined

const place = (path: string): { readonly names: ReadonlyArray<string>; readonly name: string } => {
  const names = path.split("/")
  return { names: names.slice(0, -1), name: names.at(-1) ?? "" }
}

const readIn = (root: string, path: string): Found => {
  const { name, names } = place(path)
  try {
    const found = OpenedFolder.with(root, names, (folder) => ({
      file: folder.read(name, MAX_CREDENTIAL_BYTES)
    }))
    if (found === undefined || found.file === "missing") return "missing"
    return found.file !== undefined && isCredentialFile(found.file.text) ? found.file.text : undefined
  } catch {
    return undefined
  }
}

const writeIn = (root: string, path: string, text: string): boolean => {
  const { name, names } = place(path)
  try {
    const replace = (folder: OpenedFolder) => {
      // An earlier Edge may have left an unfinished file, and a run may have made any.
      folder.replace(name, { text, mode: PRIVATE }, `corral-${randomUUID()}`)
      return true
    }
    return OpenedFolder.with(root, names, replace, true) === true
  } catch {
    return false
  }
}

const removeIn = (root: string, path: string): void => {
  const { name, names } = place(path)
  try {
    OpenedFolder.with(root, names, (folder) => folder.remove(name))
  } catch {
    // The run has made a folder of that name, which is no sign-in.
  }
}

/** Changes if the file may have changed. */
const stampOf = (path: string): string => {
  try {
    const { ino, mtimeMs, size } = lstatSync(path)
    return `${ino} ${mtimeMs} ${size}`
  } catch {
    return ""
  }
}

interface Member {
  readonly root: string
  /** The user's file when the member received it. */
  received: Found
}

/** One file of the user, and the same file of live runs. */
class SharedFile {
  readonly members = new Set<Member>()
  readonly #root: string
  readonly #file: CredentialFile
  readonly #now: () => number
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #stamps = new Map<string, string>()
  readonly #timer: NodeJS.Timeout
  #soon: NodeJS.Timeout | undefined

  constructor(root: string, file: CredentialFile, now: () => number) {
    this.#root = root
    this.#file = file
    this.#now = now
    this.#watch(root)
    this.#timer = setInterval(() => this.#look(), LOOK_MS)
    this.#timer.unref()
  }

  join(root: string): Member {
    const member: Member = { root, received: readIn(root, this.#file.path) }
    this.members.add(member)
    this.#watch(root)
    this.exchange()
    return member
  }

  leave(member: Member): void {
    this.exchange()
    this.members.delete(member)
    this.#watchers.get(member.root)?.close()
    this.#watchers.delete(member.root)
    this.#stamps.delete(member.root)
  }

  close(): void {
    clearInterval(this.#timer)
    clearTimeout(this.#soon)
    for (const watcher of this.#watchers.values()) watcher.close()
  }

  #watch(root: string): void {
    const path = join(root, this.#file.path)
    this.#stamps.set(root, stampOf(path))
    try {
      const watcher = watch(dirname(path), { persistent: false }, (_, name) => {
        if (name === null || name === basename(path)) this.#exchangeSoon()
      })
      watcher.on("error", () => watcher.close())
      this.#watchers.set(root, watcher)
    } catch {
      // A folder that does not exist yet is looked at.
    }
  }

  #look(): void {
    let isChanged = false
    for (const [root, stamp] of this.#stamps) {
      const now = stampOf(join(root, this.#file.path))
      if (now === stamp) continue
      this.#stamps.set(root, now)
      isChanged = true
    }
    if (isChanged) this.exchange()
  }

  #exchangeSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      this.exchange()
    }, SETTLE_MS).unref()
  }

  exchange(): void {
    const { path, tokens } = this.#file
    const users = readIn(this.#root, path)
    // It is written right now, or not a file: nothing is known.
    if (users === undefined) return
    const merged = users === "missing" ? users : this.#renewed(users)
    if (merged !== users && merged !== "missing") {
      // The user's program may have written meanwhile: the next change leads here again.
      if (readIn(this.#root, path) !== users) return this.#exchangeSoon()
      if (!writeIn(this.#root, path, merged)) return
    }
    for (const member of this.members) {
      if (member.received === merged) continue
      const current = readIn(member.root, path)
      if (current !== merged) {
        if (merged === "missing") removeIn(member.root, path)
        // Of a renewal that is still being written, the run's is newer.
        else if (
          current === undefined ||
          current === "missing" ||
          mergedCredentials(merged, [current], tokens, this.#now()) === merged
        )
          writeIn(member.root, path, merged)
      }
      member.received = merged
    }
  }

  #renewed(users: string): string {
    const { path, tokens } = this.#file
    const others = [...this.members].flatMap(({ root }) => {
      const found = readIn(root, path)
      return found === undefined || found === "missing" ? [] : [found]
    })
    return mergedCredentials(users, others, tokens, this.#now())
  }
}

export class CredentialExchange {
  readonly #now: () => number
  readonly #files = new Map<string, SharedFile>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Exchanges a file of the user's folder with that of a run's. Returns what ends it, after a last exchange. */
  join(root: string, layer: string, file: CredentialFile): () => void {
    const key = join(root, file.path)
    const shared = this.#files.get(key) ?? new SharedFile(root, file, this.#now)
    this.#files.set(key, shared)
    const member = shared.join(layer)
    return () => {
      shared.leave(member)
      if (shared.members.size > 0) return
      shared.close()
      this.#files.delete(key)
    }
  }
}
