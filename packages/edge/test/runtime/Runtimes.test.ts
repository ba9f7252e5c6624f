import type { AgentId } from "@corral/domain/identity/Ids"
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { Confinement } from "../../src/confinement/Confinement.ts"
import { fromAdapter } from "../../src/runtime/Offers.ts"
import { RuntimeRegistry } from "../../src/runtime/RuntimeRegistry.ts"
import { Runtimes } from "../../src/runtime/Runtimes.ts"
import { temporaryFolder, writeProgram } from "../Folder.ts"
import { configLayer } from "../Samples.ts"

const capabilities = {
  deltas: true,
  approvals: true,
  editInput: false,
  resume: false,
  readOnly: true,
  cancel: true,
  input: false
}

/** An adapter that is only ever asked whether its program is there. */
const adapterOf = (
  id: string,
  command: string,
  versionArgs: ReadonlyArray<string> = ["--version"]
): RuntimeAdapter => ({
  specificationVersion: 1,
  id,
  label: `The ${id}`,
  capabilities,
  probe: { command, versionArgs, install: `Install ${id}.` },
  command: () => ({ file: command, args: [], stdin: "ignore" }),
  protocol: () => ({
    open: "",
    step: () => [],
    end: () => [],
    answer: () => undefined,
    input: () => undefined,
    cancel: () => undefined
  })
})

const withRuntimes = <A, E, R>(
  path: string,
  adapters: ReadonlyArray<RuntimeAdapter>,
  use: (service: Runtimes["Service"]) => Effect.Effect<A, E, R>,
  environment: Record<string, string> = {},
  configFile?: string
) =>
  Effect.flatMap(Runtimes, use).pipe(
    Effect.provide(
      Layer.provide(
        Runtimes.layer,
        Layer.provideMerge(
          Confinement.layer,
          Layer.merge(
            Layer.succeed(RuntimeRegistry, new Map(adapters.map((adapter) => [adapter.id, adapter]))),
            configLayer("/nowhere", {
              configFile,
              environment: { PATH: `${path}:/usr/bin:/bin`, ...environment }
            })
          )
        )
      )
    )
  )

const timesRun = (log: string): number =>
  existsSync(log) ? readFileSync(log, "utf8").split("\n").length - 1 : 0

describe("Runtimes", () => {
  it.live("asks a program for its version once, and again when it was changed", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const log = join(folder, "log")
      const program = writeProgram(join(folder, "tool"), `echo ran >> ${log}; echo "tool 1.2.3"`)
      yield* withRuntimes(folder, [adapterOf("tool", "tool")], ({ list }) =>
        Effect.gen(function* () {
          const first = yield* list
          assert.deepStrictEqual(first, [
            {
              id: "tool" as AgentId,
              label: "The tool",
              runtime: "tool",
              counts: [],
              capabilities,
              modes: ["read_only", "plan", "ask", "auto_edit", "full_access"],
              available: true,
              version: "1.2.3"
            }
          ])
          assert.deepStrictEqual(yield* list, first)
          assert.strictEqual(timesRun(log), 1)
          writeProgram(program, `echo ran >> ${log}; echo "tool 1.3.0"`)
          utimesSync(program, 1, 1)
          assert.strictEqual((yield* list)[0]?.version, "1.3.0")
          assert.strictEqual(timesRun(log), 2)
        })
      )
    })
  )

  it.live("asks once also where two ask at the same time", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const log = join(folder, "log")
      writeProgram(join(folder, "tool"), `echo ran >> ${log}; echo 1.2.3`)
      yield* withRuntimes(folder, [adapterOf("tool", "tool")], ({ list }) =>
        Effect.gen(function* () {
          yield* Effect.all([list, list, list], { concurrency: "unbounded" })
          assert.strictEqual(timesRun(log), 1)
        })
      )
    })
  )

  it.live("asks once also where there is no answer worth keeping", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const log = join(folder, "log")
      writeProgram(join(folder, "tool"), `echo ran >> ${log}; exit 1`)
      yield* withRuntimes(folder, [adapterOf("tool", "tool")], ({ list }) =>
        Effect.gen(function* () {
          const [agent] = yield* list
          assert.deepInclude(agent, { available: true })
          assert.notProperty(agent, "version")
          yield* list
          assert.strictEqual(timesRun(log), 1)
        })
      )
    })
  )

  it.live("tells apart two runtimes of the same program", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeProgram(join(folder, "node"), 'echo "$1"')
      const adapters = [adapterOf("one", "node", ["1.1.1"]), adapterOf("two", "node", ["2.2.2"])]
      yield* withRuntimes(folder, adapters, ({ list }) =>
        Effect.gen(function* () {
          for (let time = 1; time <= 2; time++) {
            const versions = (yield* list).map(({ version }) => version)
            assert.deepStrictEqual(versions, ["1.1.1", "2.2.2"], `asked for the ${time}. time`)
          }
        })
      )
    })
  )

  it.live("finds the version in what programs really say", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const outputs: ReadonlyArray<readonly [output: string, version: string | undefined]> = [
        ["2.1.3 (Claude Code)", "2.1.3"],
        ["codex-cli 0.46.0", "0.46.0"],
        ["v24.1.0", "24.1.0"],
        ["tool version 1.0.0-beta.12+build", "1.0.0-beta.12"],
        ["This is tool 10.20.30.", "10.20.30"],
        ["warning: something\ntool 1.2.3", "1.2.3"],
        ["1.2", undefined],
        ["no version", undefined],
        ["", undefined]
      ]
      const adapters = outputs.map(([output], i) => {
        writeProgram(join(folder, `tool${i}`), `cat <<'END'\n${output}\nEND`)
        return adapterOf(`tool${i}`, `tool${i}`)
      })
      yield* withRuntimes(folder, adapters, ({ list }) =>
        Effect.map(list, (agents) =>
          assert.deepStrictEqual(
            agents.map(({ version }) => version),
            outputs.map(([, version]) => version)
          )
        )
      )
    })
  )

  it.live("shows a program that it asks no secret and no terminal", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const seen = join(folder, "seen")
      writeProgram(join(folder, "tool"), `env > ${seen}; cat >> ${seen}; echo 1.2.3`)
      const secrets = { CORRAL_EDGE_TOKEN_FILE: "/secret", ANTHROPIC_API_KEY: "secret", HOME: folder }
      yield* withRuntimes(folder, [adapterOf("tool", "tool")], ({ list }) => list, secrets)
      assert.notInclude(readFileSync(seen, "utf8"), "secret")
      assert.include(readFileSync(seen, "utf8"), `HOME=${folder}`)
    })
  )

  it.effect("says of a program that is not there how to get it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const missing = adapterOf("tool", "no-such-tool-anywhere")
      yield* withRuntimes(folder, [missing], ({ list, locate }) =>
        Effect.gen(function* () {
          const [agent] = yield* list
          assert.deepInclude(agent, { available: false, reason: "command_missing", hint: "Install tool." })
          assert.notProperty(agent, "version")
          const failure = yield* Effect.flip(locate(fromAdapter(missing), "no-such-tool-anywhere"))
          assert.deepInclude(failure, {
            code: "runtime_unavailable",
            message: "The tool is not installed. Install tool.",
            details: { reason: "command_missing", agentId: "tool" }
          })
        })
      )
    })
  )

  it.effect("gives an adapter by its id, its program by its path, and nothing else", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const program = writeProgram(join(folder, "tool"), "true")
      const adapter = adapterOf("tool", "tool")
      yield* withRuntimes(folder, [adapter], ({ get, locate }) =>
        Effect.gen(function* () {
          const agent = yield* get("tool" as AgentId)
          assert.strictEqual(agent.adapter, adapter)
          assert.strictEqual(yield* locate(agent, "tool"), program)
          for (const id of ["", "Tool", "tool ", "__proto__"]) {
            assert.strictEqual((yield* Effect.flip(get(id as AgentId))).code, "invalid_agent_id")
          }
        })
      )
    })
  )

  const askable = (id: string): RuntimeAdapter => ({
    ...adapterOf(id, id),
    passEnv: ["TOOL_KEY"],
    probe: {
      command: id,
      versionArgs: ["--version"],
      install: "Install it.",
      signIn: "Sign in.",
      signedIn: {
        args: ["whoami"],
        read: ({ code, stdout }) => (stdout === "" ? undefined : code === 0)
      }
    }
  })
  const whoami =
    'if [ "$1" = whoami ]; then [ -n "$TOOL_KEY" ] && echo me || { echo anonymous; exit 1; }; else echo 1.2.3; fi'

  it.live("asks who is signed in, in the environment of a run, and says what to do", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeProgram(join(folder, "tool"), whoami)
      writeProgram(join(folder, "older"), 'if [ "$1" = whoami ]; then exit 2; else echo 1.0.0; fi')
      const look = (environment: Record<string, string>) =>
        withRuntimes(
          folder,
          [askable("tool"), askable("older"), adapterOf("mute", "tool")],
          ({ list, readiness }) => Effect.andThen(list, readiness),
          environment
        )
      const [tool, older, mute] = yield* look({})
      const path = join(folder, "tool")
      assert.deepStrictEqual(tool, {
        id: "tool",
        label: "The tool",
        runtime: "tool",
        installed: true,
        path,
        version: "1.2.3",
        signedIn: false,
        reason: "not_signed_in",
        hint: "Sign in."
      })
      for (const silent of [older, mute]) assert.doesNotHaveAnyKeys(silent, ["signedIn", "reason", "hint"])
      const [readiness] = yield* look({ TOOL_KEY: "secret" })
      assert.deepInclude(readiness, { signedIn: true })
      assert.doesNotHaveAnyKeys(readiness, ["reason", "hint"])
    })
  )

  it.live("tells health what it knows, and does not wait for a program that does not answer", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeProgram(join(folder, "slow"), "exec sleep 600")
      writeProgram(join(folder, "tool"), whoami)
      const adapters = [askable("tool"), adapterOf("slow", "slow"), adapterOf("gone", "gone")]
      yield* withRuntimes(folder, adapters, ({ readiness }) =>
        Effect.gen(function* () {
          const answered = ([tool]: Effect.Success<typeof readiness>) => tool?.signedIn !== undefined
          const found = yield* Effect.repeat(readiness, { until: answered })
          assert.deepStrictEqual(
            found.map(({ id, installed, version, signedIn }) => [id, installed, version, signedIn]),
            [
              ["tool", true, "1.2.3", false],
              ["slow", true, undefined, undefined],
              ["gone", false, undefined, undefined]
            ]
          )
        })
      )
    })
  )

  it.effect("cuts off a program that does not answer within 10 seconds, and says so", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeProgram(join(folder, "tool"), `echo ran >> ${join(folder, "log")}; exec sleep 600`)
      yield* withRuntimes(folder, [adapterOf("tool", "tool")], ({ list, readiness }) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(list)
          yield* Effect.promise(async () => {
            while (timesRun(join(folder, "log")) === 0) await setImmediate()
          })
          yield* TestClock.adjust("10 seconds")
          const [agent] = yield* Fiber.join(fiber)
          const wanted = {
            reason: "no_answer",
            hint: "Its program gave no answer about itself within 10 seconds."
          }
          assert.deepInclude(agent, { available: true, ...wanted })
          assert.notProperty(agent, "version")
          assert.deepInclude((yield* readiness)[0], { installed: true, ...wanted })
        })
      )
    })
  )

  it.live(
    "counts what adapters had no name for, bounded, with one of each kind, beside the versions seen",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        writeProgram(join(folder, "tool"), "echo 1.2.3")
        const adapter = adapterOf("tool", "tool")
        yield* withRuntimes(folder, [adapter], ({ countUnknown, list, readiness }) =>
          Effect.gen(function* () {
            yield* list
            assert.doesNotHaveAnyKeys((yield* readiness)[0], ["drift"])
            for (let i = 0; i < 3_000; i++) countUnknown(adapter, `kind_${i}`)
            for (let i = 0; i < 3; i++) countUnknown(adapter, `often\u001b[31m${"x".repeat(1_000)}`)
            countUnknown(adapter, "kind_7", '{"type":"kind_7"}')
            countUnknown(adapter, "kind_7", "another")
            const drift = (yield* readiness)[0]?.drift
            assert.deepInclude(drift, { unknown: 3_005, versionsSeen: ["1.2.3"] })
            assert.lengthOf(drift?.kinds ?? [], 20)
            assert.deepStrictEqual(drift?.kinds[0], { what: "kind_7", count: 3, raw: '{"type":"kind_7"}' })
            assert.notInclude(JSON.stringify(drift), "often")
          })
        )
      })
  )

  it.live("offers profiles as agents of their own, and runners beside the built-in ones", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const other = writeProgram(join(folder, "other"), "echo 9.9.9")
      writeProgram(join(folder, "tool"), whoami)
      writeProgram(join(folder, "llm"), "true")
      const configFile = join(folder, "edge.config.json")
      const config = {
        profiles: [
          { id: "quick", label: "Quick", adapter: "tool", mode: "ask", model: "small", env: ["OTHER_KEY"] },
          { id: "lost", label: "Lost", adapter: "tool", program: "nowhere", grants: ["full_access"] },
          { id: "other", label: "Other", adapter: "tool", program: other }
        ],
        runners: [{ id: "aider", label: "Mine", runtime: "text", command: ["tool", "{prompt}"] }]
      }
      writeFileSync(configFile, JSON.stringify(config))
      const use = ({ get, list, locate, runners }: Runtimes["Service"]) =>
        Effect.gen(function* () {
          const agents = yield* list
          assert.deepStrictEqual(
            agents.map(({ id, runtime, available, version, model, modes }) => [
              id,
              runtime,
              available,
              version,
              model,
              modes?.at(-1)
            ]),
            [
              ["tool", "tool", true, "1.2.3", undefined, "full_access"],
              ["quick", "tool", true, "1.2.3", "small", "ask"],
              ["lost", "tool", false, undefined, undefined, "full_access"],
              ["other", "tool", true, "9.9.9", undefined, "auto_edit"]
            ]
          )
          const quick = yield* get("quick" as AgentId)
          assert.deepStrictEqual(quick.passEnv, ["TOOL_KEY", "OTHER_KEY"])
          assert.strictEqual(yield* locate(quick, "tool"), join(folder, "tool"))
          assert.strictEqual(yield* locate(yield* get("other" as AgentId), "tool"), other)
          const found = yield* runners
          assert.deepStrictEqual(
            found.map(({ id, label, available, modes }) => [id, label, available, modes]),
            [
              ["goose", "Goose", false, ["full_access"]],
              ["llm", "LLM", true, ["full_access"]],
              ["aider", "Mine", true, ["full_access"]]
            ]
          )
        })
      yield* withRuntimes(folder, [askable("tool")], use, {}, configFile)
    })
  )
})
