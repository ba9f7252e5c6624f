/**
 * Location and token of the Edge.
 *
 * An Edge writes `edge.json` and `edge.token` into its home.
 *
 * *Guarantees:* the token is sent only after the server has returned the instance id of `edge.json`. Another program on the same port never
 * receives it.
 */
import { userHome } from "@corral/service/UserHome"
import { EdgeReadiness } from "@corral/domain/http/Health"
import { Config, Effect, Option, Redacted, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import type { EdgeChoice } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"

export interface EdgeEndpoint {
  /** Without a trailing slash. */
  readonly url: string
  readonly token: Redacted.Redacted
}

/** Folder of Corral's own files: `CORRAL_HOME`, or `.corral` in the user's home. */
export const corralHome: Effect.Effect<string> = Config.String("CORRAL_HOME").pipe(
  Config.withDefault(join(userHome(), ".corral")),
  Effect.orDie
)

/** Content of `edge.json`. */
const EdgeFile = Schema.Struct({
  url: Schema.String,
  pid: Schema.Int,
  instanceId: Schema.String,
  version: Schema.String,
  tokenFile: Schema.String
})
export type EdgeFile = typeof EdgeFile.Type

const decodeEdgeFile = Schema.decodeUnknownOption(Schema.fromJsonString(EdgeFile))

const readText = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

/** Reads `edge.json` of this home. Returns undefined if it is missing or unreadable. */
export const readEdgeFile = (home: string): EdgeFile | undefined =>
  Option.getOrUndefined(decodeEdgeFile(readText(join(home, "edge.json"))))

const notRunning = Effect.flatMap(Host, ({ invocation }) =>
  Effect.fail(
    new CommandFailed({
      message: `No Edge is running on this machine. Start one with \`${invocation} up\`.`,
      exitCode: exitCodes.refused,
      unreachable: true
    })
  )
)

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"])

const parseEdgeUrl = (text: string): Effect.Effect<string, CommandFailed> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && url.protocol === "http:" && LOOPBACK.has(url.hostname)
    ? Effect.succeed(url.origin)
    : Effect.fail(
        refused("--url must be the address of an Edge on this machine, such as http://127.0.0.1:4870.")
      )
}

/** An Edge on a busy machine answers late. */
const ANSWER_TIME = "15 seconds"

const silentEdge = (url: string) =>
  new CommandFailed({
    message: `The Edge at ${url} does not answer. If the machine is busy, try again.`,
    exitCode: exitCodes.refused,
    unreachable: true
  })

/** Reads the instance id of the server at `url`. Does not send the token. */
const fetchInstanceId = (url: string): Effect.Effect<string, CommandFailed, Host | HttpClient.HttpClient> =>
  HttpClient.get(`${url}/health`).pipe(
    Effect.flatMap(HttpClientResponse.schemaBodyJson(EdgeReadiness)),
    Effect.timeout(ANSWER_TIME),
    Effect.map((readiness) => readiness.instanceId),
    Effect.catchTags({
      HttpClientError: () => notRunning,
      TimeoutError: () => Effect.fail(silentEdge(url)),
      SchemaError: () => Effect.fail(refused(`The server at ${url} is not an Edge.`))
    })
  )

/** Locates the Edge and verifies its instance id. */
export const locateEdge = Effect.fn("EdgeLocation.locate")(function* (choice: EdgeChoice) {
  const home = yield* corralHome
  const file = readEdgeFile(home)
  const url = Option.isSome(choice.url) ? yield* parseEdgeUrl(choice.url.value) : file?.url
  if (url === undefined) return yield* notRunning
  const instanceId = yield* fetchInstanceId(url)
  // An Edge selected by URL has no `edge.json` to compare with.
  if (file !== undefined && file.url === url && file.instanceId !== instanceId) {
    return yield* refused(
      `The server at ${url} is not the Edge described in ${join(home, "edge.json")}. The token was not sent.`
    )
  }
  const tokenFile = Option.getOrElse(choice.tokenFile, () =>
    file?.url === url ? file.tokenFile : join(home, "edge.token")
  )
  const token = readText(tokenFile)?.trim()
  if (token === undefined || token === "") {
    return yield* refused(`Can't read a token from ${tokenFile}. Set the file with --token-file.`)
  }
  return { url, token: Redacted.make(token) } satisfies EdgeEndpoint
})
