/**
 * Parser of Feishu's times. The signed header is Unix seconds with events, and Go's time format with card callbacks. `create_time` is
 * milliseconds with events, and microseconds with callbacks.
 */

const goTime =
  /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ([+-]\d\d)(\d\d)(?: [\w+-]{1,10})?(?: m=[+-][\d.]{1,30})?$/

/** Unix milliseconds of a signed header; undefined for invalid text. */
export const headerMillis = (text: string): number | undefined => {
  if (/^\d{1,11}$/.test(text)) return Number(text) * 1_000
  const found = goTime.exec(text)
  if (found === null) return undefined
  const [, day = "", time = "", fraction = "", hours = "", minutes = ""] = found
  const millis = Date.parse(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, "0")}${hours}:${minutes}`)
  return Number.isNaN(millis) ? undefined : millis
}

/** Unix milliseconds of a `create_time`; undefined for invalid text. */
export const createdMillis = (text: string): number | undefined => {
  if (!/^\d{10,16}$/.test(text)) return undefined
  const value = Number(text)
  return text.length > 13 ? Math.floor(value / 1_000) : value
}
