/**
 * Sign-ins that a runtime renewed, taken over from one file into another. Pure.
 *
 * Guarantees: of a run's file, only the texts and the time of a token that the user's file already has are taken over, if the time is newer and
 * plausible. Nothing else of the user's file changes, so a run adds no account, server or address.
 *
 * Does not: know whether a token is valid, or whose it is.
 */
import { isJsonObject, type JsonObject } from "@corral/domain/text/JsonObject"
import type { JsonPath, RenewedToken } from "@corral/domain/run/RuntimeFolders"

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
export const isCredentialFile = (text: string): boolean => parsed(text) !== undefined

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
