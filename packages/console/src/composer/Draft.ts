/**
 * A message that is not sent yet: its text, and its files with the state of their upload, which starts when a file is added. Only the composer reads the
 * text, so a key renders nothing else.
 *
 * Guarantees: the draft is stored in this browser shortly after each change, and when the page is left: the text, and the files that were uploaded. At
 * most `MAX_DRAFTS` are stored, and the oldest are deleted first. A browser without storage has none. A retry of an upload stores one file. At most
 * `MAX_ATTACHMENTS` are added.
 */
import { pathOf } from "@corral/client/http/Endpoints"
import { hubPaths } from "@corral/client/hubPaths"
import type { SessionId } from "@corral/domain/identity/Ids"
import type { Attachment, AttachmentMediaType } from "@corral/domain/session/Attachment"
import { MAX_ATTACHMENTS, MAX_ATTACHMENT_BYTES, isImage } from "@corral/domain/session/AttachmentRules"
import { fileMediaType } from "@corral/domain/session/ContentCheck"
import { useEffect, useSyncExternalStore } from "react"
import { type AccountArea, accountStorage } from "../api/AccountStorage.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"

/** Longest text of a message, in UTF-16 units. */
export const MAX_TEXT_LENGTH = 262_144
const MAX_DRAFTS = 50
/** A Hub deletes an upload that no message has after 24 hours. */
const UPLOAD_LIFETIME_MS = 23 * 3_600_000

const PREFIX = "corral.draft."

/** An uploaded file, with the time of its upload. */
interface StoredFile {
  readonly attachment: Attachment
  readonly at: number
}

interface StoredDraft {
  readonly text: string
  readonly files: ReadonlyArray<StoredFile>
}

type Fields = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Fields => typeof value === "object" && value !== null

const isStoredFile = (value: unknown): value is StoredFile => {
  if (!isRecord(value) || typeof value["at"] !== "number" || !isRecord(value["attachment"])) return false
  const { bytes, id, mediaType, name } = value["attachment"]
  return typeof bytes === "number" && [id, mediaType, name].every((field) => typeof field === "string")
}

const parse = (stored: string | null): Fields => {
  try {
    const value: unknown = JSON.parse(stored ?? "{}")
    return isRecord(value) ? value : {}
  } catch {
    return {}
  }
}

const deleteOldest = (storage: AccountArea): void => {
  const keys = Array.from({ length: storage.length }, (_, i) => storage.key(i) ?? "")
  const drafts = keys
    .filter((key) => key.startsWith(PREFIX))
    .map((key) => ({ key, at: Number(parse(storage.getItem(key))["at"] ?? 0) }))
  for (const { key } of drafts.toSorted((a, b) => b.at - a.at).slice(MAX_DRAFTS)) storage.removeItem(key)
}

/** The stored draft, or an empty one. */
export const readDraft = (name: string, now: number, storage: AccountArea = accountStorage): StoredDraft => {
  const { files, text } = parse(storage.getItem(PREFIX + name))
  return {
    text: typeof text === "string" ? text.slice(0, MAX_TEXT_LENGTH) : "",
    files: (Array.isArray(files) ? files : [])
      .filter(isStoredFile)
      .filter(({ at }) => now - at < UPLOAD_LIFETIME_MS)
      .slice(0, MAX_ATTACHMENTS)
  }
}

/** Stores a draft. An empty one is deleted. */
export const storeDraft = (
  name: string,
  { files, text }: StoredDraft,
  now: number,
  storage: AccountArea = accountStorage
): void => {
  if (text.trim() === "" && files.length === 0) return storage.removeItem(PREFIX + name)
  try {
    storage.setItem(PREFIX + name, JSON.stringify({ text: text.slice(0, MAX_TEXT_LENGTH), files, at: now }))
    deleteOldest(storage)
  } catch {
    // The storage is full or not allowed: the draft lives in the page.
  }
}

/** Why a file is not uploaded. */
type FileRefusal = "empty" | "tooLarge" | "type"

/** What a file is to a message, and which files a paste has. */
type FileKind =
  | { readonly mediaType: AttachmentMediaType; readonly refusal?: never }
  | { readonly mediaType?: never; readonly refusal: FileRefusal }

/** Browsers announce many kinds of text by other types, or by none, so the content decides. */
export const fileKind = async (name: string, file: Blob): Promise<FileKind> => {
  if (file.size > MAX_ATTACHMENT_BYTES) return { refusal: "tooLarge" }
  if (file.size === 0) return { refusal: "empty" }
  const mediaType = fileMediaType(name, new Uint8Array(await file.arrayBuffer()))
  return mediaType === undefined ? { refusal: "type" } : { mediaType }
}

/** A name that the Hub accepts: one line, without a folder. */
export const attachmentName = (name: string): string => {
  const plain = name
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029\uFFFD/\\]/gu, "_")
    .slice(-200)
    .toWellFormed()
    .replaceAll("\uFFFD", "_")
  return plain === "" || plain === "." || plain === ".." ? "file" : plain
}

/** A longer pasted text becomes a file: a field with it is slow, and hides the rest of the message. */
const MAX_PASTED_BYTES = 8_192

/** The files of a paste: those of the clipboard, or its text where that is long. */
export const pastedFiles = (clipboard: Pick<DataTransfer, "files" | "getData">): ReadonlyArray<File> => {
  const files = [...clipboard.files]
  const text = clipboard.getData("text/plain")
  // Programs put a picture of a copied table beside its text.
  if (files.length > 0 && (text === "" || clipboard.getData("text/html") === "")) return files
  const file = new File([text], "pasted.txt", { type: "text/plain" })
  return file.size > MAX_PASTED_BYTES ? [file] : []
}

type UploadState =
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly attachment: Attachment; readonly at: number }
  | { readonly kind: "refused"; readonly refusal: FileRefusal }
  | { readonly kind: "failed"; readonly message: string }

/** A file of a draft, with the state of its upload. */
export interface DraftFile {
  /** Also the idempotency key of its upload. */
  readonly key: string
  readonly name: string
  readonly bytes: number
  /** Address of an image. */
  readonly preview: string | undefined
  readonly state: UploadState
  /** Absent after a reload. */
  readonly file?: File
}

/** Address of the content of a sent file. */
export const contentAddress = (id: Attachment["id"]): string =>
  pathOf(hubPaths.uploads.content[1], { params: { id } })

const storedFile = ({ at, attachment }: StoredFile): DraftFile => ({
  key: attachment.id,
  name: attachment.name,
  bytes: attachment.bytes,
  preview: isImage(attachment) ? contentAddress(attachment.id) : undefined,
  state: { kind: "ready", attachment, at }
})

const newFile = (file: File): DraftFile => ({
  key: crypto.randomUUID(),
  name: attachmentName(file.name),
  bytes: file.size,
  // Bytes of another type show no image.
  preview: isImage({ mediaType: file.type }) ? URL.createObjectURL(file) : undefined,
  state: { kind: "loading" },
  file
})

/** Files of one draft. An upload starts when a file is added. */
class DraftFiles {
  private current: ReadonlyArray<DraftFile>
  private readonly onChange: () => void
  private readonly listeners = new Set<() => void>()

  constructor(stored: ReadonlyArray<StoredFile>, onChange: () => void) {
    this.current = stored.map(storedFile)
    this.onChange = onChange
  }

  readonly list = (): ReadonlyArray<DraftFile> => this.current

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Files that are uploaded. */
  stored(): ReadonlyArray<StoredFile> {
    return this.current.flatMap(({ state }) =>
      state.kind === "ready" ? [{ attachment: state.attachment, at: state.at }] : []
    )
  }

  /** Returns whether there was place for all of them. */
  add(files: ReadonlyArray<File>): boolean {
    const added = files.slice(0, MAX_ATTACHMENTS - this.current.length).map(newFile)
    this.replace([...this.current, ...added])
    for (const each of added) void this.upload(each)
    return added.length === files.length
  }

  retry(key: string): void {
    const found = this.current.find((each) => each.key === key)
    if (found === undefined) return
    this.update(key, { kind: "loading" })
    void this.upload(found)
  }

  remove(keys: ReadonlyArray<string>): void {
    for (const { key, preview } of this.current)
      if (keys.includes(key) && preview?.startsWith("blob:") === true) URL.revokeObjectURL(preview)
    this.replace(this.current.filter(({ key }) => !keys.includes(key)))
  }

  private async upload({ file, key, name }: DraftFile): Promise<void> {
    if (file === undefined) return
    try {
      const { mediaType, refusal } = await fileKind(name, file)
      if (refusal !== undefined) return this.update(key, { kind: "refused", refusal })
      const attachment = await hubApi.uploads.create({
        headers: { "idempotency-key": key },
        query: { name },
        payload: new Blob([file], { type: mediaType })
      })
      this.update(key, { kind: "ready", attachment, at: Date.now() })
    } catch (error) {
      this.update(key, { kind: "failed", message: error instanceof Error ? error.message : String(error) })
    }
  }

  private update(key: string, state: UploadState): void {
    this.replace(this.current.map((each) => (each.key === key ? { ...each, state } : each)))
  }

  private replace(files: ReadonlyArray<DraftFile>): void {
    this.current = files
    this.onChange()
    for (const listener of this.listeners) listener()
  }
}

/** Files of sent messages as new ones, for another message. */
export const copiesOf = (attachments: ReadonlyArray<Attachment>): Promise<ReadonlyArray<File>> =>
  Promise.all(
    attachments.map(async ({ id, mediaType, name }) => {
      const content = await hubApi.uploads.content({ params: { id } })
      return new File([await new Response(content).blob()], name, { type: mediaType })
    })
  )

/** Delay that combines the keys of a burst. */
const STORE_AFTER_MS = 300

/** Whether a draft can be sent. `blocked`: a file failed, and is neither sent nor lost without the user. */
export type DraftReadiness = "empty" | "filesOnly" | "uploading" | "blocked" | "ready"

export class Draft {
  private static readonly open = new Map<string, Draft>()

  /** The draft with this name: of a user in a session, or on the home page. */
  static of(name: string): Draft {
    const draft = Draft.open.get(name) ?? new Draft(name)
    Draft.open.set(name, draft)
    return draft
  }

  readonly files: DraftFiles
  private readonly name: string
  private current: string
  private timer: ReturnType<typeof setTimeout> | undefined
  private readonly listeners = new Set<() => void>()

  private constructor(name: string) {
    this.name = name
    const { files, text } = readDraft(name, Date.now())
    this.current = text
    this.files = new DraftFiles(files, () => this.changed())
  }

  readonly text = (): string => this.current

  readonly readiness = (): DraftReadiness => {
    const kinds = this.files.list().map(({ state }) => state.kind)
    if (kinds.includes("failed") || kinds.includes("refused")) return "blocked"
    if (kinds.includes("loading")) return "uploading"
    if (this.current.trim() !== "") return "ready"
    return kinds.length > 0 ? "filesOnly" : "empty"
  }

  /** Notifies of changes of the text and of the files. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly write = (text: string): void => {
    this.current = text
    this.changed()
  }

  /** Removes what was sent. What was typed since stays. */
  removeSent(text: string, fileKeys: ReadonlyArray<string>): void {
    if (this.current.startsWith(text)) this.write(this.current.slice(text.length).trimStart())
    this.files.remove(fileKeys)
    this.store()
  }

  /** Brings a text back that was sent, if there is no other. Returns whether it did. */
  offer(text: string): boolean {
    if (this.readiness() !== "empty") return false
    this.write(text)
    return true
  }

  /** Puts a text that would be lost before the draft. */
  prepend(text: string): void {
    this.write(this.current.trim() === "" ? text : `${text}\n\n${this.current}`)
  }

  readonly store = (): void => {
    clearTimeout(this.timer)
    this.timer = undefined
    storeDraft(this.name, { text: this.current, files: this.files.stored() }, Date.now())
  }

  private changed(): void {
    this.timer ??= setTimeout(this.store, STORE_AFTER_MS)
    for (const listener of this.listeners) listener()
  }
}

export const useDraftText = ({ subscribe, text }: Draft): string => useSyncExternalStore(subscribe, text)

export const useDraftReadiness = ({ readiness, subscribe }: Draft): DraftReadiness =>
  useSyncExternalStore(subscribe, readiness)

export const useDraftFiles = ({ files }: Draft) => useSyncExternalStore(files.subscribe, files.list)

/** Stores the draft when its page is left. */
export const useStoredDraft = ({ store }: Draft): void =>
  useEffect(() => {
    addEventListener("pagehide", store)
    return () => {
      removeEventListener("pagehide", store)
      store()
    }
  }, [store])

/** The draft of the signed-in user in a session. */
export const useSessionDraft = (id: SessionId): Draft => Draft.of(`${useCurrentUser().user.id}.${id}`)
