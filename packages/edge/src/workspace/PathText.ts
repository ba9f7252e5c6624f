/**
 * Paths as text: the text of a name, and whether the text of a path stays inside a folder. `approval/PathTarget` resolves links.
 *
 * A file system's name is a sequence of bytes, and text is not. Guarantees: different names have different texts, and a text leads back to its name.
 * The text of a name in UTF-8 is the name, except that it contains no U+FFFD: that character and each byte that is not UTF-8 become U+FFFD with the
 * byte in two hexadecimal digits.
 */
import { isAbsolute, sep } from "node:path"

/**
 * Names of files as text. A file system's name is a sequence of bytes, and text is not.
 *
 * Guarantees: different names have different texts, and a text leads back to its name. The text of a name in UTF-8 is the name, except
 * that it contains no U+FFFD: that character and each byte that is not UTF-8 become U+FFFD with the byte in two hexadecimal digits.
 */
const MARK = "\uFFFD"
/** Only bytes that `pathText` writes so: no separator is one. */
const marked = /\uFFFD([89A-F][0-9A-F])/g
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const isAscii = (bytes: Buffer): boolean => bytes.every((byte) => byte < 0x80)

/** Length of the character in UTF-8 that starts at `at`; 0 if none does. */
const characterAt = (bytes: Buffer, at: number): number => {
  const first = bytes[at] ?? 0
  const length =
    first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
  if (length === 0 || at + length > bytes.length) return 0
  try {
    return strict.decode(bytes.subarray(at, at + length)) === MARK ? 0 : length
  } catch {
    return 0
  }
}

const markedText = (bytes: Buffer): string => {
  let text = ""
  let start = 0
  for (let at = 0; at < bytes.length;) {
    const length = characterAt(bytes, at)
    if (length > 0) {
      at += length
      continue
    }
    const byte = bytes[at] ?? 0
    text += `${bytes.toString("utf8", start, at)}${MARK}${byte.toString(16).toUpperCase().padStart(2, "0")}`
    start = ++at
  }
  return text + bytes.toString("utf8", start)
}

/** Text of a name, or of a path. */
export const pathText = (bytes: Buffer): string => {
  if (isAscii(bytes)) return bytes.toString("latin1")
  const text = bytes.toString("utf8")
  return text.includes(MARK) ? markedText(bytes) : text
}

/** Name with this text. */
export const pathBytes = (text: string): Buffer => {
  if (!text.includes(MARK)) return Buffer.from(text, "utf8")
  const parts: Array<Buffer> = []
  let start = 0
  for (const { 0: mark, 1: digits = "", index } of text.matchAll(marked)) {
    parts.push(Buffer.from(text.slice(start, index), "utf8"), Buffer.from(digits, "hex"))
    start = index + mark.length
  }
  return Buffer.concat([...parts, Buffer.from(text.slice(start), "utf8")])
}

/** Whether the name with this text is not UTF-8. */
export const isMarkedText = (text: string): boolean => text.includes(MARK)

/** The path of a file in a folder. `path` has one character per byte. */
export const bytePath = (folder: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, "latin1")])

/** Relative and not climbing: `a/b`, not `/a`, `../a`, `a/../../b`, `C:\a`. */
export const isLexicallyInside = (path: string): boolean =>
  path !== "" &&
  !path.includes("\0") &&
  !isAbsolute(path) &&
  !/^([A-Za-z]:|\\)/.test(path) &&
  !path.split(/[\\/]/).includes("..")

/** Whether `path` is `root` or inside it. Both are absolute, without `.` and `..`; links are not followed. */
export const isWithin = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)
