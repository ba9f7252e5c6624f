/**
 * `hub.json` in a Corral home: the Hub that this person is signed in to from the command line, and the token of that sign-in. 0600, written
 * whole or not at all. One at a time: what a command does without naming a Hub is never in doubt.
 */
import { UserId } from "@corral/domain/identity/Ids"
import { Effect, Option, Redacted, Schema } from "effect"
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { corralHome } from "../edge/EdgeLocation.ts"

export const SIGN_IN_FILE = "hub.json"

const SignInRecord = Schema.Struct({
  /** The Hub's address, without a slash at its end. */
  hub: Schema.String,
  userId: UserId,
  name: Schema.String,
  token: Schema.RedactedFromValue(Schema.String)
})
/** Who is signed in, and where. */
export type StoredSignIn = typeof SignInRecord.Type

const text = Schema.fromJsonString(SignInRecord)
const decode = Schema.decodeUnknownOption(text)

const file = Effect.map(corralHome, (home) => join(home, SIGN_IN_FILE))

/** The sign-in, where there is one. */
export const readSignIn: Effect.Effect<StoredSignIn | undefined, CommandFailed> = Effect.flatMap(
  file,
  (path) => {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return Effect.undefined
    if ((stat.mode & 0o077) !== 0) return Effect.fail(refused(`${path} can be read by others: chmod 600 it.`))
    const kept = Option.getOrUndefined(decode(readFileSync(path, "utf8")))
    return kept === undefined
      ? Effect.fail(refused(`${path} is damaged: delete it, and sign in again with corral login.`))
      : Effect.succeed(kept)
  }
)

export const writeSignIn = ({ hub, name, token, userId }: StoredSignIn): Effect.Effect<void, CommandFailed> =>
  Effect.flatMap(file, (path) =>
    Effect.try({
      try: () => {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
        const fresh = `${path}.${process.pid}`
        rmSync(fresh, { force: true })
        writeFileSync(fresh, `${JSON.stringify({ hub, userId, name, token: Redacted.value(token) })}\n`, {
          mode: 0o600,
          flag: "wx"
        })
        chmodSync(fresh, 0o600)
        renameSync(fresh, path)
      },
      catch: () => refused(`${path} cannot be written.`)
    })
  )

export const deleteSignIn: Effect.Effect<void> = Effect.map(file, (path) => rmSync(path, { force: true }))
