/**
 * Token of the listener of `corral ahp`, in `ahp.token` of the Corral home: the same for each start, because editors store it in their settings.
 *
 * *Guarantees:* a token of 32 random bytes, in a file that only the user can read. A file that others can read is refused.
 */
import { fileReason } from "@corral/edge/store/FileReason"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { corralHome } from "../edge/EdgeLocation.ts"

const TOKEN_FILE = "ahp.token"

const isToken = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

/** Reads the token. The first start of a home writes it. */
export const listenerToken: Effect.Effect<string, CommandFailed> = Effect.flatMap(corralHome, (home) => {
  const path = join(home, TOKEN_FILE)
  const stored = Effect.try({
    try: () => {
      const stat = statSync(path, { throwIfNoEntry: false })
      if (stat !== undefined) return { mode: stat.mode, text: readFileSync(path, "utf8").trim() }
      makeFolder(home)
      const text = randomBytes(32).toString("base64url")
      writeFileSync(path, `${text}\n`, { mode: 0o600, flag: "wx" })
      return { mode: 0o600, text }
    },
    catch: (cause) => refused(`Can't use ${path}: ${fileReason(cause)}.`)
  })
  return Effect.flatMap(stored, ({ mode, text }) => {
    if ((mode & 0o077) !== 0)
      return Effect.fail(
        refused(`Other users can read ${path}. Delete it: the next start writes another one.`)
      )
    return isToken(text)
      ? Effect.succeed(text)
      : Effect.fail(refused(`${path} is damaged. Delete it: the next start writes another one.`))
  })
})
