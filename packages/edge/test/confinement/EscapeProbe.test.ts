/** The probe of the confinement: it holds on this machine, and reports what a weaker confinement lets through. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig, makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { withFlags } from "../../src/confinement/Bubblewrap.ts"
import { Confinement } from "../../src/confinement/Confinement.ts"
import { type Mount, mountArguments } from "../../src/confinement/Mount.ts"
import {
  type ProbedAttempt,
  probedModes,
  probeEscapes,
  type Weakening
} from "../../src/confinement/probe/EscapeProbe.ts"
import {
  makeScene,
  openServers,
  openVisible,
  type EscapeResults,
  type EscapeTargets
} from "../../src/confinement/probe/EscapeScene.ts"
import { fileIdentity } from "../../src/confinement/probe/RightsAttempts.ts"
import { callProgram } from "../../src/process/ProgramCall.ts"
import { openFolder } from "../Folder.ts"
import { canConfine } from "./CanConfine.ts"

const machine = () => {
  const folder = openFolder()
  const [home, edgeHome] = [join(folder, "home"), join(folder, "edge")]
  mkdirSync(join(home, ".ssh"), { recursive: true })
  mkdirSync(edgeHome)
  writeFileSync(join(edgeHome, "edge.token"), "token")
  const environment = { PATH: process.env["PATH"] ?? "", HOME: home }
  const config = makeEdgeConfig({ home: edgeHome, confinement: "required", environment })
  const layer = Layer.provideMerge(Confinement.layer, Layer.succeed(EdgeConfig, config))
  return { home, edgeHome, layer }
}

const ofOutcome = (found: ReadonlyArray<ProbedAttempt>, outcome: ProbedAttempt["outcome"]) =>
  found.flatMap((each) => (each.outcome === outcome ? [`${each.mode}: ${each.kind}: ${each.attempt}`] : []))

/** Adds mounts after all others. */
const withMounts =
  (mounts: (targets: EscapeTargets) => ReadonlyArray<Mount>): Weakening =>
  (command, targets) => {
    const at = command.args.indexOf("--chdir")
    return { ...command, args: command.args.toSpliced(at, 0, ...mountArguments(mounts(targets))) }
  }

/** A folder for temporary files that no other test uses, for this test. */
const ownTemporaryFolder = (): string => {
  const folder = realpathSync(openFolder())
  const before = process.env["TMPDIR"]
  process.env["TMPDIR"] = folder
  onTestFinished(() => {
    if (before === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = before
  })
  return folder
}

describe.skipIf(!canConfine)("probeEscapes", () => {
  it.effect("holds in every mode, and leaves nothing", () =>
    Effect.gen(function* () {
      const { home, layer } = machine()
      const temporary = ownTemporaryFolder()
      const found = yield* Effect.provide(probeEscapes(), layer)
      assert.deepStrictEqual(ofOutcome(found, "not_held"), [])
      assert.deepStrictEqual(new Set(found.map(({ mode }) => mode)), new Set(probedModes))
      for (const mode of probedModes) {
        const kinds = new Set(found.flatMap((each) => (each.mode === mode ? [each.kind] : [])))
        assert.strictEqual(kinds.has("workspace"), mode === "read_only" || mode === "plan", mode)
      }
      assert.include(ofOutcome(found, "held"), "ask: read: ~/.ssh")
      assert.include(ofOutcome(found, "held"), "ask: read: files of the Edge")
      for (const attempt of ["add a hook", "read history.jsonl", "plant files"])
        assert.include(ofOutcome(found, "held"), `read_only: state: ${attempt}`)
      const inCopies = found.filter(
        ({ kind, reason }) => kind === "copies" && reason === "discarded with the copy"
      )
      assert.deepStrictEqual(new Set(inCopies.map(({ mode }) => mode)), new Set(["ask", "auto_edit"]))
      assert.deepStrictEqual(readdirSync(home), [".ssh"])
      assert.deepStrictEqual(readdirSync(temporary), [])
    })
  )

  it.effect("reports each attempt that a weaker confinement lets through", () =>
    Effect.gen(function* () {
      const { home, layer } = machine()
      const weaken = withMounts(({ hidden, socket, state, workspace }) => [
        { kind: "write", path: hidden.folder },
        { kind: "write", path: socket },
        { kind: "read", path: join(home, ".ssh") },
        { kind: "write", path: join(workspace.path, ".zed") },
        { kind: "write", path: state }
      ])
      const found = yield* Effect.provide(probeEscapes(weaken), layer)
      const notHeld = ofOutcome(found, "not_held")
      for (const mode of probedModes)
        for (const attempt of [
          "hidden: create",
          "hidden: append",
          "hidden: truncate",
          "hidden: unlink",
          "network: a socket file of the host",
          "read: ~/.ssh",
          "copies: another content than an approval showed",
          "copies: a file next to an approved one",
          "state: change its settings",
          "state: read history.jsonl",
          "state: plant files",
          "outside: a changed file",
          "outside: a connection that arrived"
        ])
          assert.include(notHeld, `${mode}: ${attempt}`)
      assert.deepStrictEqual(
        notHeld.filter((line) => /: copies: (settings|a task|a link|a hook|a change)/.test(line)),
        []
      )
      assert.deepStrictEqual(
        notHeld.filter((line) => /: (readable|workspace|protected|rights|processes): /.test(line)),
        []
      )
    })
  )

  it.effect("fails with a reason if its program cannot start", () =>
    Effect.gen(function* () {
      const weaken: Weakening = (command) => ({ ...command, args: withFlags(command.args, "--no-such-flag") })
      const { message } = yield* Effect.flip(Effect.provide(probeEscapes(weaken), machine().layer))
      assert.match(message, /^The probe did not run in its confinement: .*no-such-flag/)
    })
  )
})

/** Attempts whose success depends on the user and the network of this machine. */
const OF_THE_MACHINE =
  /^rights: |^calls: (?!a program of another)|^network: (CONNECT|a name by|a port of the host over IPv6)|^hidden: chown|^readable: chown|^workspace: chown|through (the folder of process 1|the root of process 1|descriptors)$/

describe.skipIf(process.platform !== "linux")("the program of the probe", () => {
  it.effect("gets through without a confinement", () =>
    Effect.gen(function* () {
      const folder = realpathSync(openFolder())
      const socket = join(folder, "socket")
      const { host, servers } = yield* openServers(socket)
      const { argumentsFor, contents, targets: places, workspace } = makeScene(join(folder, "scene"), "plan")
      const visible = yield* openVisible(join(folder, "scene"), workspace, () => undefined)
      const secret = join(folder, "secret")
      writeFileSync(secret, "x")
      const paths = { secret: [{ path: secret, id: fileIdentity(secret) ?? "" }] }
      const targets: EscapeTargets = {
        ...places,
        host,
        servers,
        visible: visible.places,
        socket,
        read: paths,
        opened: paths
      }
      const args = argumentsFor(targets)
      const before = contents()
      const call = {
        program: process.execPath,
        args,
        env: { PATH: process.env["PATH"] ?? "" },
        cwd: workspace
      }
      const results: EscapeResults = JSON.parse((yield* callProgram(call))?.stdout ?? "")
      const failed = Object.entries(results).flatMap(([kind, each]) =>
        Object.entries(each).flatMap(([name, result]) =>
          result === "succeeded" || kind === "protected" || kind === "copies" ? [] : [`${kind}: ${name}`]
        )
      )
      assert.deepStrictEqual(
        failed.filter((line) => !OF_THE_MACHINE.test(line)),
        []
      )
      assert.strictEqual(results["protected"]?.["a hook"], "succeeded")
      // The other folders of the copies have other names by then.
      assert.strictEqual(results["copies"]?.["a file next to an approved one"], "succeeded")
      assert.strictEqual(results["protected"]?.["rename of the repository"], "succeeded")
      assert.notDeepEqual(contents(), before)
    }).pipe(Effect.scoped)
  )
})
