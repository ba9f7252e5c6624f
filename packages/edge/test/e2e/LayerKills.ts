/** Runs in layers that are killed at a random moment, by a random way: the workspace is as it was, and the layers stay usable. */
import { assert } from "@effect/vitest"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { endAll, endHolder } from "@corral/testing/edge/Survivors"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { folderContents } from "../../src/confinement/probe/EscapeScene.ts"
import type { Seeded } from "../harness/Seeded.ts"
import { commitAll, git, sampleRepository } from "../workspace/Repository.ts"

const FILES = 40
const AT_ONCE = 4
const MAX_WRITES = 30

/** Files of a repository, some of them not committed. */
export const fillWorkspace = (root: string): void => {
  sampleRepository(root)
  mkdirSync(join(root, "folder"))
  for (let n = 0; n < FILES; n++) writeFileSync(join(root, "folder", `file${n}`), `${n}\n`)
  commitAll(root)
  writeFileSync(join(root, "uncommitted"), "uncommitted\n")
}

/** The workspace, without what the Edge itself writes into its repository: objects, and its refs. */
const treeOf = (root: string) => ({
  files: folderContents(root, root, (path) => path === join(root, ".git")),
  refs: git(root, "for-each-ref", "refs/heads", "refs/tags", "refs/remotes"),
  head: git(root, "rev-parse", "HEAD"),
  status: git(root, "status", "--porcelain")
})

/** Writes, reads and commands, in an order of chance. */
const scriptOf = (seeded: Seeded): string => {
  const lines = Array.from({ length: seeded.whole(1, MAX_WRITES) }, (_, n) =>
    seeded.pick([
      `/write folder/file${seeded.whole(0, FILES)} changed ${n}`,
      `/write new${n} new`,
      `/write a.txt changed ${n}`,
      `/sleep ${seeded.whole(1, 40)}`
    ])
  )
  return [...lines, seeded.pick(["/say over", "/wait", "/crash"])].join("\n")
}

const ways = ["edge", "holder", "all"] as const

/** Kills the Edge, the holder and then the Edge, or all processes. */
const kill = async (edge: EdgeProcess, way: (typeof ways)[number]): Promise<void> => {
  const alive = way === "all" ? edge.survivors() : []
  if (way !== "edge") endHolder(edge.home, "SIGKILL")
  endAll(alive)
  await edge.kill()
}

export interface LayerKills {
  readonly edge: EdgeProcess
  readonly seeded: Seeded
  /** How many runs are started. */
  readonly runs: number
}

/** Returns how many of the runs were live when something was killed. */
export const killLayers = async ({ edge, runs, seeded }: LayerKills): Promise<number> => {
  const before = treeOf(edge.workspace)
  const owners: Array<string> = []
  let started = 0
  let live = 0
  while (started < runs) {
    const { client } = edge
    const ids: Array<string> = []
    for (let n = 0; n < AT_ONCE && started < runs; n++, started++) {
      const owner =
        owners.length > 0 && seeded.whole(0, 1) === 1 ? seeded.pick([owners[0] ?? "", ...owners]) : undefined
      const more = owner === undefined ? { isolation: "overlay" } : { resume: owner }
      const answer = await client.tryCreate(scriptOf(seeded), "auto_edit", more)
      // A layer takes one run at a time, and a run without a conversation is not resumed.
      if (answer.status !== 201) continue
      const { id } = answer.body as { readonly id: string }
      ids.push(id)
      edge.runIds.add(id)
    }
    await pause(seeded.whole(0, 1_500))
    live += (await Promise.all(ids.map((id) => client.run(id)))).filter(
      ({ endedAt }) => endedAt === undefined
    ).length
    await kill(edge, seeded.pick(ways))
    assert.deepStrictEqual(treeOf(edge.workspace), before, "after the kill")
    await edge.start()
    for (const id of ids) {
      await edge.client.cancel(id)
      await edge.client.result(id, 60_000)
    }
    owners.push(...ids)
    assert.deepStrictEqual(treeOf(edge.workspace), before, "after the next start")
  }
  return live
}
