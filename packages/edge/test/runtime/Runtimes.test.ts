import type { AgentId } from "@corral/domain/Ids"
import type { RuntimeAdapter } from "@corral/domain/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { Runtimes } from "../../src/runtime/Runtimes.ts"
import { temporaryFolder, writeProgram } from "../Folder.ts"
import { configOf } from "../Samples.ts"

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
  environment: Record<string, string> = {}
) =>
  Effect.flatMap(Runtimes, use).pipe(
    Effect.provide(
      Runtimes.layer(
        configOf("/nowhere", { environment: { PATH: `${path}:/usr/bin:/bin`, ...environment } }),
        new Map(adapters.map((adapter) => [adapter.id, adapter]))
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
              capabilities,
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
      const said: ReadonlyArray<readonly [output: string, version: string | undefined]> = [
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
      const adapters = said.map(([output], i) => {
        writeProgram(join(folder, `tool${i}`), `cat <<'END'\n${output}\nEND`)
        return adapterOf(`tool${i}`, `tool${i}`)
      })
      yield* withRuntimes(folder, adapters, ({ list }) =>
        Effect.map(list, (agents) =>
          assert.deepStrictEqual(
            agents.map(({ version }) => version),
            said.map(([, version]) => version)
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
          const failure = yield* Effect.flip(locate(missing, "no-such-tool-anywhere"))
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
          assert.strictEqual(yield* get("tool" as AgentId), adapter)
          assert.strictEqual(yield* locate(adapter, "tool"), program)
          for (const id of ["", "Tool", "tool ", "__proto__"]) {
            assert.strictEqual((yield* Effect.flip(get(id as AgentId))).code, "invalid_agent_id")
          }
        })
      )
    })
  )
})
