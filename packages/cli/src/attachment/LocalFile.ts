/**
 * A file of this machine for a message, with the content that it had when the user named it; the files that a user attaches in a chat; text about
 * files of messages; and their uploads to a Hub.
 *
 * Guarantees: an image or a PDF document is recognized by its content, and other files are text. A failure names the file and says why. A file is
 * uploaded once, also if its message is sent again.
 */
import { HubEffects } from "@corral/client/effect/HubEffects"
import type { AttachmentId } from "@corral/domain/identity/Ids"
import { type Attachment, type AttachmentMediaType, AttachmentName } from "@corral/domain/session/Attachment"
import { MAX_ATTACHMENTS, MAX_ATTACHMENT_BYTES } from "@corral/domain/session/AttachmentRules"
import { fileMediaType } from "@corral/domain/session/ContentCheck"
import { fileReason } from "@corral/edge/store/FileReason"
import { userHome } from "@corral/service/UserHome"
import { Effect, Schema } from "effect"
import { readFile, stat } from "node:fs/promises"
import { basename, join, resolve } from "node:path"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { hubFailure, hubUnreachable } from "../hub/HubRefusal.ts"
import type { StoredSignIn } from "../hub/SignInFile.ts"
import { type Row, wrapIndented } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** A file of a message, also before it is uploaded. */
export type NamedFile = Pick<Attachment, "name" | "bytes">

const fileText = ({ bytes, name }: NamedFile): string =>
  `${escapeLine(name)} (${bytes} ${bytes === 1 ? "byte" : "bytes"})`

/** Names of the files, for one line. */
export const fileNames = (files: ReadonlyArray<NamedFile>): string =>
  files.map(({ name }) => escapeLine(name)).join(", ")

/** A message in one line, with the names of its files. */
export const textWithFiles = (text: string, files: ReadonlyArray<NamedFile>): string =>
  files.length === 0 ? text : `${text} [${fileNames(files)}]`

/** One row for each file. */
export const fileRows = (files: ReadonlyArray<NamedFile>, columns: number): ReadonlyArray<Row> =>
  files.flatMap((file) =>
    wrapIndented(
      [{ text: `file ${fileText(file)}`, style: "dim" }],
      columns,
      [{ text: "  " }],
      [{ text: "    " }],
      "anywhere"
    )
  )

/** A file of this machine for a message, with the content that it had when the user named it. */
export interface LocalFile {
  readonly name: string
  readonly mediaType: AttachmentMediaType
  readonly bytes: number
  readonly content: Blob
}

const tooLarge = (shown: string): CommandFailed =>
  refused(`${shown} is larger than ${MAX_ATTACHMENT_BYTES / 1_048_576} MiB.`)

const isName = Schema.is(AttachmentName)

export const openFile = Effect.fn("LocalFile.open")(function* (path: string) {
  const shown = escapeLine(path)
  const attempt = <A>(read: () => Promise<A>) =>
    Effect.tryPromise({ try: read, catch: (cause) => refused(`Can't read ${shown}: ${fileReason(cause)}.`) })
  const absolute = resolve(path)
  const found = yield* attempt(() => stat(absolute))
  if (found.isDirectory()) return yield* refused(`${shown} is a folder. Attach its files one by one.`)
  if (!found.isFile()) return yield* refused(`${shown} is not a file.`)
  if (found.size > MAX_ATTACHMENT_BYTES) return yield* tooLarge(shown)
  const content = yield* attempt(() => readFile(absolute))
  // The file may have changed since.
  if (content.length > MAX_ATTACHMENT_BYTES) return yield* tooLarge(shown)
  return yield* checkedFile(basename(absolute), shown, content)
})

/** A file whose content is known. `shown`: what a failure calls it. */
const checkedFile = Effect.fnUntraced(function* (name: string, shown: string, content: Buffer<ArrayBuffer>) {
  if (content.length === 0) return yield* refused(`${shown} is empty.`)
  if (!isName(name)) return yield* refused(`The name of ${shown} is too long or not one line. Rename it.`)
  const mediaType = fileMediaType(name, content)
  if (mediaType === undefined)
    return yield* refused(
      `${shown} can't be attached. Attach an image (PNG, JPEG, GIF or WebP), a PDF document, or text in UTF-8.`
    )
  const file: LocalFile = {
    name,
    mediaType,
    bytes: content.length,
    content: new Blob([content], { type: mediaType })
  }
  return file
})

/** A file for a message that is not a file of this machine, such as an image that was pasted. */
export const localFile = (
  name: string,
  content: Buffer<ArrayBuffer>
): Effect.Effect<LocalFile, CommandFailed> =>
  content.length > MAX_ATTACHMENT_BYTES
    ? Effect.fail(tooLarge(escapeLine(name)))
    : checkedFile(name, escapeLine(name), content)

/** Path that a user typed, or that a terminal pasted: in quotes, with `\ ` for a space, or in the home `~`. */
export const typedPath = (text: string): string => {
  const quote = text.charAt(0)
  const isQuoted = (quote === '"' || quote === "'") && text.length > 1 && text.endsWith(quote)
  const path = isQuoted ? text.slice(1, -1) : text.replaceAll("\\ ", " ")
  return path.startsWith("~/") ? join(userHome(), path.slice(2)) : path
}

/** Files of the message that a user writes in a chat. Plain and synchronous. */
export class AttachedFiles {
  private current: ReadonlyArray<LocalFile> = []

  get files(): ReadonlyArray<LocalFile> {
    return this.current
  }

  /** Adds a file. Returns why it is not added. */
  add(file: LocalFile): string | undefined {
    if (this.current.length === MAX_ATTACHMENTS) return `A message takes up to ${MAX_ATTACHMENTS} files.`
    this.current = [...this.current, file]
    return undefined
  }

  /** Removes the files with this name, or all of them. Returns what it did. */
  remove(name: string): string {
    const removed = this.current.filter((file) => name === "" || file.name === name)
    this.current = this.current.filter((file) => !removed.includes(file))
    if (removed.length > 0) return `Removed: ${fileNames(removed)}`
    return name === "" ? "The message has no files." : `The message has no file ${escapeLine(name)}.`
  }

  /** The files, for a message that is sent. */
  take(): ReadonlyArray<LocalFile> {
    const files = this.current
    this.current = []
    return files
  }
}

/** Uploads of files to a Hub, for messages. Each file is uploaded once. */
export class FileUploads {
  private readonly signIn: StoredSignIn
  private readonly uploaded = new WeakMap<LocalFile, AttachmentId>()

  constructor(signIn: StoredSignIn) {
    this.signIn = signIn
  }

  /** Ids for the message, in the order of the files. */
  idsOf(files: ReadonlyArray<LocalFile>): Effect.Effect<ReadonlyArray<AttachmentId>, CommandFailed> {
    return Effect.forEach(files, (file) => this.idOf(file))
  }

  private idOf(file: LocalFile): Effect.Effect<AttachmentId, CommandFailed> {
    const { hub: url, token } = this.signIn
    const { content: payload, name } = file
    return Effect.gen({ self: this }, function* () {
      const earlier = this.uploaded.get(file)
      if (earlier !== undefined) return earlier
      const { uploads } = yield* HubEffects.make({ url, token })
      const { id } = yield* uploads.create({ query: { name }, payload })
      this.uploaded.set(file, id)
      return id
    }).pipe(Effect.mapError(({ error }) => hubFailure(error, hubUnreachable(url), url)))
  }
}
