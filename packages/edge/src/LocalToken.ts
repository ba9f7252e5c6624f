/**
 * The local Edge token: 256 random bits in a file that only its owner can read. It protects the loopback Edge and nothing else. A second token for
 * editors is derived from it, and opens the agent host only.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { Context, Data, Effect, Layer } from "effect"
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

export class TokenFileUnsafe extends Data.TaggedError("TokenFileUnsafe")<{ readonly message: string }> {}

/** The token of editors. It changes with the token of the Edge only. */
export const editorTokenOf = (token: string): string =>
  `corral_ahp_${createHmac("sha256", token).update("agent host").digest("base64url")}`

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

export class LocalToken extends Context.Service<
  LocalToken,
  {
    /** Compares in constant time. */
    readonly matches: (candidate: string) => boolean
    /** Token that opens the agent host and nothing else. */
    readonly editorToken: string
    /** Whether it opens the agent host: the token of the Edge, or that of editors. Compares in constant time. */
    readonly matchesEditor: (candidate: string) => boolean
  }
>()("corral/edge/LocalToken") {
  /** Reads the token of that file, or makes one. Refuses a file that others can read. */
  static readonly layer = (file: string) =>
    Layer.effect(
      LocalToken,
      Effect.gen(function* () {
        const token = yield* obtain(file)
        const editorToken = editorTokenOf(token)
        const matching = (expected: Buffer) => (candidate: string) =>
          timingSafeEqual(sha256(candidate), expected)
        const matches = matching(sha256(token))
        const isOfEditors = matching(sha256(editorToken))
        return LocalToken.of({
          matches,
          editorToken,
          matchesEditor: (candidate) => isOfEditors(candidate) || matches(candidate)
        })
      })
    )
}

const obtain = (file: string): Effect.Effect<string, TokenFileUnsafe> =>
  Effect.try({
    try: () => read(file) ?? create(file),
    catch: (cause) => new TokenFileUnsafe({ message: cause instanceof Error ? cause.message : String(cause) })
  })

const read = (file: string): string | undefined => {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  if ((stat.mode & 0o077) !== 0)
    throw new Error(`${file} can be read by others: chmod 600 it, or delete it for a new one`)
  if (process.getuid !== undefined && stat.uid !== process.getuid())
    throw new Error(`${file} belongs to another user`)
  const token = readFileSync(file, "utf8").trim()
  if (token.length < 32) throw new Error(`${file} holds no usable token: delete it for a new one`)
  return token
}

/** Written beside and renamed, so that a reader sees a whole token or none. */
const create = (file: string): string => {
  makeFolder(dirname(file))
  const token = `corral_e_${randomBytes(32).toString("base64url")}`
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, `${token}\n`, { mode: 0o600, flag: "wx" })
  renameSync(fresh, file)
  return token
}
