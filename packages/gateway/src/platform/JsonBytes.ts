/** JSON out of bytes that somebody sent. */

const decoder = new TextDecoder("utf-8", { fatal: true })

/** The text of bytes that must be UTF-8; undefined where they are no such thing. */
export const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** What JSON says; undefined where it is none. */
export const jsonOf = (text: string | undefined): unknown => {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
