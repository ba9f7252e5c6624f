/** JSON from untrusted bytes. */
import { isTooDeep } from "@corral/domain/text/Depth"

const decoder = new TextDecoder("utf-8", { fatal: true })

/** The text of bytes that must be UTF-8; undefined where they are no such thing. */
export const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** What JSON says; undefined where it is none, or nests too deep. */
export const parseJson = (text: string | undefined): unknown => {
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text)
    return isTooDeep(value) ? undefined : value
  } catch {
    return undefined
  }
}
