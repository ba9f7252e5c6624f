/**
 * Name of a file of a message on this machine.
 *
 * Guarantees: names of different attachments differ, on file systems that fold case too. A name has only letters, digits, `.`, `_` and `-`,
 * begins with the attachment's id, and is at most 200 bytes long. So no tool reads a file by its name as settings or instructions, and no
 * program reads the name as an option, a pattern or a path.
 */
import type { Attachment } from "@corral/domain/session/Attachment"
import { extname } from "node:path"

/** Bytes of a name after the id. */
const MAX_BYTES = 160
const MAX_EXTENSION_BYTES = 20

const shortened = (text: string, bytes: number): string => {
  let short = ""
  let used = 0
  for (const character of text) {
    used += Buffer.byteLength(character)
    if (used > bytes) break
    short += character
  }
  return short
}

const safe = (text: string): string => text.replace(/[^\p{L}\p{N}._-]+/gu, "-")

export const attachmentFileName = ({ id, name }: Pick<Attachment, "id" | "name">): string => {
  const plain = safe(name.toWellFormed().normalize("NFC"))
  const extension = shortened(extname(plain), MAX_EXTENSION_BYTES)
  const stem = shortened(
    plain.slice(0, plain.length - extname(plain).length),
    MAX_BYTES - Buffer.byteLength(extension)
  )
  return `${id}-${stem}${extension}`
}
