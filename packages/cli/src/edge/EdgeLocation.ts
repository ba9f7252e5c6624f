/**
 * Where the Edge is, and the token that it takes.
 *
 * An Edge writes `edge.json` and `edge.token` into its home. Before the token is sent, whoever listens there must tell the instance id of
 * that `edge.json`: another program that has taken the port gets nothing.
 */
import { EdgeReadiness } from "@corral/domain/http/Health"
import { Config, Effect, Option, Redacted, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import type { EdgeChoice } from "../Flags.ts"

export interface EdgeEndpoint {
  /** Without a slash at the end. */
  readonly url: string
  readonly token: Redacted.Redacted
}

/** Folder of the Edge's own files: `CORRAL_HOME`, or `.corral` in the person's home. */
export const corralHome: Effect.Effect<string> = Config.String("CORRAL_HOME").pipe(
  Config.withDefault(join(homedir(), ".corral")),
  Effect.orDie
)

/** What an Edge says of itself in `edge.json`. */
export const EdgeFile = Schema.Struct({
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

/** The `edge.json` of that home, where there is a readable one. */
export const readEdgeFile = (home: string): EdgeFile | undefined =>
  Option.getOrUndefined(decodeEdgeFile(readText(join(home, "edge.json"))))

const NOT_RUNNING = "No Edge is running here. Start one with `npm start` or `corral up`."

const notRunning = new CommandFailed({ message: NOT_RUNNING, exitCode: exitCodes.refused, unreachable: true })

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"])

const parseEdgeUrl = (text: string): Effect.Effect<string, CommandFailed> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && url.protocol === "http:" && LOOPBACK.has(url.hostname)
    ? Effect.succeed(url.origin)
    : Effect.fail(
        refused("--url takes the address of an Edge on this machine, such as http://127.0.0.1:4870.")
      )
}

/** Asks, without the token, who listens at `url`. */
export const fetchInstanceId = (url: string): Effect.Effect<string, CommandFailed, HttpClient.HttpClient> =>
  HttpClient.get(`${url}/health`).pipe(
    Effect.flatMap(HttpClientResponse.schemaBodyJson(EdgeReadiness)),
    Effect.timeout("5 seconds"),
    Effect.map((readiness) => readiness.instanceId),
    Effect.catchTags({
      HttpClientError: () => Effect.fail(notRunning),
      TimeoutError: () => Effect.fail(notRunning),
      SchemaError: () => Effect.fail(refused(`What answers at ${url} is not an Edge.`))
    })
  )

/** Finds the Edge and makes sure that it is the one. */
export const locateEdge = Effect.fn("EdgeLocation.locate")(function* (choice: EdgeChoice) {
  const home = yield* corralHome
  const file = readEdgeFile(home)
  const url = Option.isSome(choice.url) ? yield* parseEdgeUrl(choice.url.value) : file?.url
  if (url === undefined) return yield* notRunning
  const instanceId = yield* fetchInstanceId(url)
  // An Edge that is named by its address alone has no other file to be compared with.
  if (file !== undefined && file.url === url && file.instanceId !== instanceId) {
    return yield* refused(
      `What answers at ${url} is not the Edge that ${join(home, "edge.json")} describes; the token was not sent.`
    )
  }
  const tokenFile = Option.getOrElse(choice.tokenFile, () =>
    file?.url === url ? file.tokenFile : join(home, "edge.token")
  )
  const token = readText(tokenFile)?.trim()
  if (token === undefined || token === "") {
    return yield* refused(`There is no token to be read in ${tokenFile}. Name its file with --token-file.`)
  }
  return { url, token: Redacted.make(token) } satisfies EdgeEndpoint
})
