/** Asserts that the hostile program, in a mode and as a user, changes and reaches nothing beyond the mode. */
import type { RunMode } from "@corral/domain/run/Run"
import { assert, onTestFinished } from "@effect/vitest"
import { ManagedRuntime } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { changesBetween } from "../../src/confinement/ProtectedRecord.ts"
import { ProtectedTree } from "../../src/confinement/ProtectedTree.ts"
import { ProtectedCopies } from "../../src/confinement/ProtectedCopies.ts"
import { type CaseContainment, ConfinedCase, type OrdinaryUser, type Results } from "./ConfinedCase.ts"
import type { MountPrograms } from "../../src/layer/LayerMounts.ts"
import { Layers } from "../../src/layer/Layers.ts"
import { layerServices, openLayer } from "../layer/LayerPlace.ts"
import { HostileNetwork } from "./HostileNetwork.ts"
import { scanned } from "./ProtectedCase.ts"

const succeeded = (results: Results, kind: string): ReadonlyArray<string> =>
  Object.entries(results[kind] ?? {}).flatMap(([name, result]) => (result === "succeeded" ? [name] : []))

const failed = (results: Results, kind: string): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(results[kind] ?? {}).filter(([, result]) => result !== "succeeded"))

/** Entries that the attempts on the workspace make or change. */
const EXPECTED =
  /^\/(workspace\/(new|file|root|removed)\.txt|workspace\/(\.git|sub|deep|\.idea|\.husky)\/|workspace\/(Makefile|package\.json|\.envrc|\.npmrc|\.gitattributes|\.tool-versions|\.env) )/
const PROTECTED = /^\/(workspace\/\.git\/(config( |$)|hooks)|workspace\/\.vscode)/

/** Hosts that a run may ask for where it may ask. */
const REQUESTABLE = ["model.test", "notmodel.test", "other.test"]

export interface HostileCase extends CaseContainment {
  /** Whether the run has copies of protected folders, as a run of an Edge. */
  readonly hasCopies?: boolean
  /** Programs that mount the layer of the run; without them, it is a copy. Absent: it writes the workspace itself. */
  readonly layer?: { readonly programs: MountPrograms | undefined } | undefined
}

const attack = async (mode: RunMode, user?: OrdinaryUser, containment?: HostileCase) => {
  const hosts = new HostileNetwork()
  const sockets = mkdtempSync(join(tmpdir(), "corral-hostile-"))
  const machine = new ConfinedCase(user, await hosts.open(sockets))
  onTestFinished(async () => {
    await machine.close()
    hosts.close()
    rmSync(sockets, { recursive: true, force: true })
    rmSync(machine.folder, { recursive: true, force: true })
  })
  if (containment?.hasCopies === true)
    machine.copies = new ProtectedCopies(workspacePathsAt(machine.workspace), () => performance.now())
  await machine.open()
  if (containment?.layer !== undefined) await openIn(machine, containment.layer.programs)
  // The Edge makes its folder of temporary files private.
  await machine.confined(mode, "/bin/true", [])
  const tree = new ProtectedTree(machine.workspace, () => performance.now())
  const scan = scanned(tree)
  const before = machine.contents()
  const results = await machine.attack(mode, containment)
  const after = new Set(machine.contents())
  const earlier = new Set(before)
  const changed = [
    ...before.filter((line) => !after.has(line)),
    ...[...after].filter((line) => !earlier.has(line))
  ]
  const reported = changesBetween(scan, scanned(tree)).map(({ path }) => path)
  return { results, changed, hosts, reported, discarded: machine.copies?.discarded() ?? [] }
}

/** Makes a layer for its runs. */
const openIn = async (machine: ConfinedCase, programs: MountPrograms | undefined): Promise<void> => {
  // Its run gets a separate repository.
  machine.commit()
  const runtime = ManagedRuntime.make(
    layerServices({ home: machine.edge, root: machine.workspace }, programs)
  )
  onTestFinished(() => runtime.dispose())
  const { owner } = await runtime.runPromise(openLayer(machine.workspace))
  machine.layer = (await runtime.runPromise(Layers)).files(owner)
  machine.giveLayers()
}

/** Runs it in a layer, and compares the machine before and after: nothing of it has changed. */
export const assertLayered = async (
  mode: RunMode,
  user: OrdinaryUser | undefined,
  programs: MountPrograms | undefined
): Promise<void> => {
  const { changed, hosts, results } = await attack(mode, user, { layer: { programs } })
  for (const kind of ["outside", "unreadable", "visible", "rights", "calls", "executed", "network"])
    assert.deepStrictEqual(succeeded(results, kind), [], kind)
  for (const kind of ["protected", "copied"]) assert.deepStrictEqual(succeeded(results, kind), [], kind)
  for (const kind of ["allowed", "connections", ...(mode === "ask" ? ["workspace", "names"] : [])])
    assert.deepStrictEqual(failed(results, kind), {}, kind)
  assert.deepStrictEqual(hosts.reached, [])
  assert.deepStrictEqual(changed, [])
}

/** Users of this machine as whom an Edge may run. */
export const users: ReadonlyArray<readonly [string, OrdinaryUser | undefined]> =
  process.getuid?.() === 0
    ? [
        ["root", undefined],
        ["an ordinary user", { uid: 65_534, gid: 65_534 }]
      ]
    : [["an ordinary user", undefined]]

/** Runs it, and compares the machine before and after. */
export const assertHeld = async (
  mode: RunMode,
  user?: OrdinaryUser,
  containment?: HostileCase
): Promise<void> => {
  const isWritable = mode === "ask" || mode === "auto_edit"
  const { changed, discarded, hosts, reported, results } = await attack(mode, user, containment)
  const hasCopies = containment?.hasCopies === true
  for (const kind of ["outside", "unreadable", "visible", "rights", "calls", "executed", "network"])
    assert.deepStrictEqual(succeeded(results, kind), [], kind)
  // The run owns its copies, and may change them. The workspace is compared below.
  if (hasCopies) assert.deepStrictEqual(failed(results, "copied"), {})
  else for (const kind of ["protected", "copied"]) assert.deepStrictEqual(succeeded(results, kind), [], kind)
  assert.strictEqual(discarded.length > 0, hasCopies, JSON.stringify(discarded))
  assert.deepStrictEqual(failed(results, "allowed"), {})
  assert.deepStrictEqual(failed(results, "connections"), {})
  assert.deepStrictEqual(hosts.reached, [])
  assert.deepStrictEqual(new Set(hosts.requestedHosts), new Set(isWritable ? REQUESTABLE : []))
  const names = Object.keys(results["names"] ?? {})
  assert.isAbove(names.length, 10)
  for (const kind of ["workspace", "names"])
    if (isWritable) assert.deepStrictEqual(failed(results, kind), {})
    else assert.deepStrictEqual(succeeded(results, kind), [])
  if (isWritable) assert.includeMembers([...reported], names, "each is reported")
  else assert.deepStrictEqual(reported, [])
  assert.deepStrictEqual(
    changed.filter((line) => !isWritable || !EXPECTED.test(line) || PROTECTED.test(line)),
    []
  )
}
