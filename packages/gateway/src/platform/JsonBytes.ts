/** JSON from untrusted bytes. */
import { isTooDeep } from "@corral/domain/text/Depth"

const decoder = new TextDecoder("utf-8", { fatal: true })

/** Text of UTF-8 bytes; undefined for invalid bytes. */
export const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** Value of a JSON text; undefined if the text is invalid or nests too deep. */
export const parseJson = (text: string | undefined): unknown => {
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text)
    return isTooDeep(value) ? undefined : value
  } catch {
    return undefined
  }
}
