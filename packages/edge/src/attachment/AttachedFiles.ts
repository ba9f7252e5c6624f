/**
 * Files of a turn as its runtime receives them: images where it takes them, and a sentence in the prompt with the paths of all files, so that the
 * agent can use them later too.
 */
import { Overloaded } from "@corral/domain/errors/Failures"
import type { AnyRuntimeAdapter, RunImage } from "@corral/domain/run/RuntimeAdapter"
import { isImage } from "@corral/domain/session/AttachmentRules"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import type { PlacedAttachment, TurnAttachments } from "./Attachments.ts"
import { fileReason } from "../store/FileReason.ts"

/** Largest image that a model service accepts, and largest total of one turn. Larger images are named by their paths only. */
const MAX_IMAGE_BYTES = 5 * 1_048_576
const MAX_IMAGES_BYTES = 20 * 1_048_576

const listOf = (introduction: string, files: ReadonlyArray<PlacedAttachment>): ReadonlyArray<string> =>
  files.length === 0 ? [] : [introduction, ...files.map(({ path }) => `- ${path}`), ""]

/** What the prompt says of the files, after the user's text; empty without files. */
export const attachmentNote = ({ earlier, message }: TurnAttachments): string =>
  [
    ...listOf("Files that are attached to this message. Read them at these paths:", message),
    ...listOf("Files that were attached to earlier messages:", earlier)
  ]
    .join("\n")
    .trimEnd()

/** A text with a note after it. */
export const withNote = (text: string, note: string): string => (note === "" ? text : `${text}\n\n${note}`)

/** The images that the model receives with the prompt. */
export const imagesFor = Effect.fnUntraced(function* (
  { images }: AnyRuntimeAdapter,
  { message }: TurnAttachments
): Effect.fn.Return<ReadonlyArray<RunImage>, Overloaded> {
  if (images !== "native") return []
  let left = MAX_IMAGES_BYTES
  const chosen = message.filter((file) => {
    if (!isImage(file) || file.bytes > Math.min(left, MAX_IMAGE_BYTES)) return false
    left -= file.bytes
    return true
  })
  return yield* Effect.forEach(chosen, ({ mediaType, name, path }) =>
    Effect.tryPromise({
      try: async (): Promise<RunImage> => ({ path, mediaType, base64: await readFile(path, "base64") }),
      catch: (cause) =>
        new Overloaded({ message: `The Edge can't read the attachment ${name}: ${fileReason(cause)}.` })
    })
  )
})
