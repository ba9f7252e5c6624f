/**
 * A real program renews its sign-in while two confined runs and the owner's terminal use it: each has the newest tokens, no refresh token is used
 * twice, and the owner's file has what the provider gave out last.
 */
import { assert, describe, it } from "@effect/vitest"
import { noNetwork } from "@corral/testing/process/RegistryProgram"
import { until } from "@corral/testing/time/Until"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { canConfine } from "../confinement/CanConfine.ts"
import { RIGHT_KEY } from "./FakeModels.ts"
import { install } from "./Installation.ts"
import { programs } from "./Programs.ts"
import { promptFor } from "./Script.ts"
import { SignInProvider, type SignInTokens } from "./SignInProvider.ts"
import { type BegunRun, Stage } from "./Stage.ts"

const program = programs.find(({ agents }) => agents.some(({ id }) => id === "codex"))
if (program === undefined) throw new Error("there is no Codex")
const place = await install(program)

/** Codex with a sign-in at the provider, which also serves its models. */
const signIn = (home: string, { host, tokens }: SignInProvider): void => {
  const settings = join(home, ".codex", "config.toml")
  const changed = readFileSync(settings, "utf8")
    .replace(/^base_url = .*$/m, `base_url = "http://${host}/v1"`)
    .replace(/^env_key = .*$/m, "requires_openai_auth = true")
  writeFileSync(settings, `cli_auth_credentials_store = "file"\n${changed}`)
  const stored = {
    auth_mode: "chatgpt",
    OPENAI_API_KEY: null,
    tokens: { ...tokens, account_id: "account" },
    last_refresh: new Date().toISOString()
  }
  writeFileSync(join(home, ".codex", "auth.json"), JSON.stringify(stored), { mode: 0o600 })
}

const storedIn = (home: string): SignInTokens =>
  JSON.parse(readFileSync(join(home, ".codex", "auth.json"), "utf8")).tokens

interface SignedIn {
  readonly stage: Stage
  readonly provider: SignInProvider
  readonly home: string
}

/** A stage whose Codex has signed in. */
const withSignIn = async (use: (signedIn: SignedIn) => Promise<void>): Promise<void> => {
  let models = ""
  let home = ""
  const provider = new SignInProvider(() => models)
  await provider.start()
  const stage = await Stage.open(place, "codex", RIGHT_KEY, {
    confinement: "required",
    env: (url) => {
      models = url
      return {
        CORRAL_EDGE_RUN_HOSTS: provider.host,
        CODEX_REFRESH_TOKEN_URL_OVERRIDE: `http://${provider.host}/token`,
        OPENAI_API_KEY: ""
      }
    },
    prepare: (_, of) => {
      home = of
      signIn(of, provider)
    }
  })
  try {
    await use({ stage, provider, home })
  } finally {
    await stage.close()
    provider.stop()
  }
}

/** The owner's terminal: the program, started by hand. */
const byHand = async ({ home, provider, stage }: SignedIn, prompt: string): Promise<string> => {
  const child = spawn(join(place.bin, place.program.command), [...(place.program.alone?.(prompt) ?? [])], {
    cwd: stage.edge.workspace,
    env: {
      ...noNetwork,
      HOME: home,
      PATH: [place.bin, process.env["PATH"]].join(":"),
      CODEX_REFRESH_TOKEN_URL_OVERRIDE: `http://${provider.host}/token`
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return output + errors
}

describe.skipIf(!canConfine || place.missing !== undefined)("a sign-in of Codex that is renewed", () => {
  it(
    "reaches the other live run, the owner's terminal and the next runs",
    () =>
      withSignIn(async (signedIn) => {
        const { home, provider, stage } = signedIn
        const allow = () => "allow" as const
        const waiting = async (name: string): Promise<BegunRun> => {
          const run = await stage.begin(promptFor("run", `touch ${name}`), "ask")
          await stage.question(run)
          return run
        }
        const complete = async (run: BegunRun) => {
          const { end } = await stage.end(run, allow, "ask")
          assert.strictEqual(end.type, "run.completed", JSON.stringify(end.payload))
        }
        const renewed = (count: number) =>
          until(
            async () => storedIn(home).refresh_token === `refresh-${count + 1}` || undefined,
            `renewal ${count} in the owner's file`,
            30_000
          )
        const first = await waiting("first")
        const second = await waiting("second")
        const third = await waiting("third")

        provider.expire()
        await complete(first)
        await renewed(1)
        await complete(second)
        assert.strictEqual(provider.renewals, 1, "the second run has the tokens of the first one")

        provider.expire()
        assert.include(await byHand(signedIn, promptFor("run", "touch by-hand")), "by-hand")
        await renewed(2)
        await complete(third)
        assert.strictEqual(provider.renewals, 2, "the third run has the tokens of the terminal")

        provider.expire()
        const { end } = await stage.play(promptFor("run", "touch last"), allow)
        assert.strictEqual(end.type, "run.completed", JSON.stringify(end.payload))
        await renewed(3)
        assert.deepStrictEqual(provider.reused, [])
        assert.strictEqual(storedIn(home).access_token, provider.tokens.access_token)
      }),
    300_000
  )
})
