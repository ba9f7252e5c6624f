/** Every code of the error table as the answer to each command: the advice names commands and flags that exist, and that can help. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ErrorCode, errorCodes, errorTable } from "@corral/domain/errors/ErrorTable"
import { NodeServices } from "@effect/platform-node"
import { Cause, ConfigProvider, Effect, Exit, Layer, Logger, Option } from "effect"
import { Command, Completions } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { CommandFailed, exitCodes } from "../../src/CommandFailed.ts"
import { corral } from "../../src/Corral.ts"
import { Host } from "../../src/terminal/Host.ts"
import { testHost } from "../terminal/TestHost.ts"

const runId = "run_01K00000000000000000000000"
const approvalId = "apr_01K00000000000000000000000"
const inputId = "inq_01K00000000000000000000000"
const artifactId = "art_01K00000000000000000000000"
const sessionId = "ses_01K00000000000000000000000"
const previewId = "prv_01K00000000000000000000000"

/** Commands of a run's server, by an Edge and a Hub. */
const ofRuns: ReadonlyArray<ReadonlyArray<string>> = [
  ["run", "--agent", "scripted", "--workspace", "ws", "hello"],
  ["runs"],
  ["attach", runId],
  ["approve", approvalId],
  ["deny", approvalId],
  ["cancel", runId],
  ["diff", runId],
  ["artifacts", "list", runId],
  ["artifacts", "save", runId, artifactId],
  ["approvals"],
  ["approvals", "allow", approvalId],
  ["approvals", "deny", approvalId],
  ["questions"],
  ["answer", inputId, "--decline"],
  ["finish", runId],
  ["show", runId],
  ["show", "run_01K"],
  ["run", "--resume", runId, "hello"],
  ["run", "--continue", "hello"]
]
const ofEdges: ReadonlyArray<ReadonlyArray<string>> = [
  ["preview", "open", "5173", "--workspace", "ws"],
  ["preview", "list", runId],
  ["preview", "show", previewId],
  ["preview", "close", previewId],
  ["raw", runId]
]
const ofHubs: ReadonlyArray<ReadonlyArray<string>> = [
  ["whoami"],
  ["projects"],
  ["devices"],
  ["audit", "verify"],
  ["say", "--session", sessionId, "hello"],
  ["say", "--new", "--to", "scripted", "hello"],
  ["show", sessionId]
]

let answered: ErrorCode = "internal"
/** Answers its health, and every other request with the code. */
const refusing = createServer((request, response) => {
  const isHealth = request.url === "/health"
  const body = isHealth
    ? { status: "ok", instanceId: "instance" }
    : { code: answered, message: errorTable[answered].message, requestId: "req_01K00000000000000000000000" }
  response.writeHead(isHealth ? 200 : errorTable[answered].status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
})
const listen = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      // A listening server has an address with a port.
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    })
  })

const homes = { edge: "", hub: "" }
beforeAll(async () => {
  const url = await listen(refusing)
  for (const kind of ["edge", "hub"] as const) {
    const home = mkdtempSync(join(tmpdir(), "corral-advice-"))
    homes[kind] = home
    const tokenFile = join(home, "edge.token")
    writeFileSync(tokenFile, "token\n")
    const edge = { url, pid: 1, instanceId: "instance", version: "0.1.0", tokenFile }
    const hub = { hub: url, userId: "usr_01K00000000000000000000000", name: "ana", token: "token" }
    if (kind === "edge") writeFileSync(join(home, "edge.json"), JSON.stringify(edge))
    else writeFileSync(join(home, "hub.json"), JSON.stringify(hub), { mode: 0o600 })
  }
})
afterAll(() => {
  refusing.closeAllConnections()
  refusing.close()
  for (const home of Object.values(homes)) rmSync(home, { recursive: true, force: true })
})

/** What the user reads, and the failure. */
const refusalOf = async (args: ReadonlyArray<string>, kind: keyof typeof homes) => {
  let shown = ""
  const write = (text: string): void => void (shown += text)
  const host = testHost({ write, warn: write })
  const services = Layer.mergeAll(
    NodeServices.layer,
    FetchHttpClient.layer,
    Layer.succeed(Host, host),
    Logger.layer([])
  )
  const exit = await Effect.runPromiseExit(
    Command.runWith(corral, { version: "0.1.0" })(args).pipe(
      Effect.provide(services),
      Effect.provideService(
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromEnv({ env: { CORRAL_HOME: homes[kind] } })
      )
    )
  )
  if (Exit.isSuccess(exit)) return { shown, failure: undefined }
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  assert.instanceOf(failure, CommandFailed, `${args.join(" ")}: ${Cause.pretty(exit.cause)}`)
  return { shown: shown + failure.message, failure }
}

/** The command that the words name, with those of its flags that do not exist; `undefined` if there is no such command. */
const described = Completions.fromCommand(corral)
const resolved = (words: ReadonlyArray<string>) => {
  let command = described
  for (const word of words) {
    const next = command.subcommands.find(({ name }) => name === word)
    if (next === undefined) break
    command = next
  }
  const flags = words.filter((word) => /^-./.test(word)).map((word) => word.replace(/=.*$/, ""))
  const knownFlags = command.flags.flatMap(({ aliases, name }) => [
    `--${name}`,
    ...aliases.map((each) => `-${each}`)
  ])
  return command === described ? undefined : flags.filter((flag) => !knownFlags.includes(flag))
}

const adviceOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/`corral ([^`]+)`/g)].map(([, words = ""]) => words)

const check = (args: ReadonlyArray<string>, code: ErrorCode, shown: string, kind: "edge" | "hub"): void => {
  const context = `${args.join(" ")}, ${code}: ${shown}`
  for (const advice of adviceOf(shown)) assert.deepStrictEqual(resolved(advice.split(" ")), [], context)
  for (const [flag = ""] of shown.replaceAll(/`[^`]*`/g, "").matchAll(/--[a-z-]+/g))
    assert.deepStrictEqual(resolved([args[0] ?? "", ...args.slice(1, 2), flag]), [], context)
  if (code === "unauthorized")
    assert.match(shown, kind === "hub" ? /`corral login --hub/ : /--token-file/, context)
  // Nothing was started, so that there is nothing to follow.
  if (args[0] === "run") assert.notMatch(shown, /in progress|attach/, context)
  if (kind === "edge") assert.notMatch(shown, /\bHub\b|[Ss]ign in first/, context)
}

describe("advice after a refusal", () => {
  const table = [
    ...[...ofRuns, ...ofEdges].map((args) => ["edge", args] as const),
    ...[...ofRuns, ...ofHubs].map((args) => ["hub", args] as const)
  ]
  it.each(table.map(([kind, args]) => [kind, args.join(" "), args] as const))(
    "of the %s, for corral %s",
    async (kind, _, args) => {
      // These two are retried.
      for (const code of errorCodes.filter((each) => each !== "idempotency_in_flight")) {
        answered = code
        const { failure, shown } = await refusalOf(args, kind)
        assert.isDefined(failure, `${args.join(" ")}, ${code}: ${shown}`)
        assert.notStrictEqual(failure?.exitCode, exitCodes.completed)
        assert.notStrictEqual(shown.trim(), "")
        check(args, code, shown, kind)
      }
    }
  )
})

const packages = fileURLToPath(new URL("../../..", import.meta.url))
/** Each command in a message of any package, as the source writes it: `${…}` is one word. */
const written = ["adapters", "cli", "console", "domain", "edge", "gateway", "hub", "service"].flatMap(
  (name) => {
    const folder = join(packages, name, "src")
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
      /\.tsx?$/.test(file)
    )
    return files.flatMap((file) =>
      [
        ...readFileSync(join(folder, file), "utf8").matchAll(
          /[`'"](?:npm run )?(?:corral|\$\{(?:host\.)?invocation\}) ((?:[^`\\'"\n$]|\$\{[^}]*\})+?)\\?[`'"]/g
        )
      ].map(([, words = ""]) => [`${name}/${file}`, words.replaceAll(/\$\{[^}]*\}/g, " X ").trim()] as const)
    )
  }
)

describe("advice in messages", () => {
  it("names commands and flags that exist, in every package", () => {
    assert.isAbove(written.length, 30)
    const wrong = written.filter(([, words]) => {
      const flags = resolved(words.split(/\s+/))
      return flags === undefined ? !/^(?:--|on +X$|X$|action +X)/.test(words) : flags.length > 0
    })
    assert.deepStrictEqual(wrong, [])
  })
})
