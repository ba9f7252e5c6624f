/** Hostile programs in layers, by each means that is enforced: nothing of the machine changes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { exposedPath, otherPathsOf } from "../../src/confinement/RunMounts.ts"
import { folderContents } from "../../src/confinement/probe/EscapeScene.ts"
import { mountPrograms, type MountPrograms } from "../../src/layer/LayerMounts.ts"
import { writeProgram } from "../Folder.ts"
import { canOverlay, layerServices, openLayer, runInLayer } from "../layer/LayerPlace.ts"
import { commitAll, place, repository } from "../workspace/Repository.ts"
import { canConfine } from "./CanConfine.ts"
import { assertLayered, users } from "./HostileRun.ts"

const means: ReadonlyArray<readonly [string, MountPrograms | undefined, boolean]> = [
  ["an overlay", mountPrograms(), canOverlay],
  ["a copy", undefined, true]
]

/** Ways to the workspace itself. Each tries to write a file there, or in place. */
const WAYS = [
  "umount -l . ; umount -l $PWD/.git; umount -f $PWD; echo x > unmounted",
  "unshare -Urm sh -c 'umount -l $PWD; cd $PWD; echo x > namespace'",
  "unshare -Ur true && echo x > namespaced",
  "for process in /proc/[0-9]*; do echo x > $process/root$PWD/rooted; echo x > $process/cwd/cwd; done",
  "for number in /proc/self/fd/*; do echo x > $number/../fd; done",
  "mount --bind $PWD /tmp/bound; mkdir -p /tmp/bound; echo x > /tmp/bound/bound",
  "mount -t overlay overlay -o userxattr,lowerdir=/tmp,upperdir=$PWD,workdir=/tmp $PWD",
  "ln file.txt /tmp/linked; echo x >> /tmp/linked; ln file.txt second.txt; echo x >> second.txt",
  "echo x >> one.txt; echo x >> other.txt",
  "for all in / /proc/1/root /proc/$PPID/root; do find $all -xdev -name file.txt -exec sh -c 'echo x >> {}' ';'; done",
  "cd ..; mv workspace moved; mkdir workspace; echo x > workspace/moved",
  "chmod -R 777 .; touch -d 2001-01-01 file.txt; rm -rf .git folder; rm file.txt; mkdir file.txt",
  "nsenter -t 1 -m -U echo x; nsenter -t $PPID -m -U sh -c 'echo x > $PWD/entered'"
]

for (const [name, programs, isPossible] of means)
  describe.skipIf(!canConfine || !isPossible)(`hostile programs in ${name}`, () => {
    for (const [who, user] of users)
      for (const mode of ["read_only", "ask"] as const)
        it(`change nothing in ${mode} as ${who}`, () => assertLayered(mode, user, programs))

    it.effect("find no way to the workspace", () =>
      Effect.gen(function* () {
        const at = yield* place
        repository(at.root)
        mkdirSync(join(at.root, "folder"))
        for (const file of ["file.txt", "one.txt", "folder/deep.txt"])
          writeFileSync(join(at.root, file), file)
        linkSync(join(at.root, "one.txt"), join(at.root, "other.txt"))
        commitAll(at.root)
        const contents = () =>
          folderContents(at.root, at.root, (path) => path.startsWith(join(at.root, ".git/refs/corral")))
        yield* Effect.gen(function* () {
          for (const way of WAYS) {
            const layer = yield* openLayer(at.root)
            // What the Edge itself writes is its ref.
            const before = contents()
            yield* runInLayer(at, layer, way)
            assert.deepStrictEqual(contents(), before, way)
          }
        }).pipe(Effect.provide(layerServices(at, programs)))
        assert.strictEqual(readFileSync(join(at.root, "file.txt"), "utf8"), "file.txt")
      }).pipe(Effect.scoped)
    )
  })

describe.skipIf(!canConfine)("programs of the Edge in the workspace", () => {
  for (const name of ["git", "bwrap"])
    for (const way of ["in it", "through a link"] as const)
      it.effect(`${name} ${way} prevents a layer: a run could replace it`, () =>
        Effect.gen(function* () {
          const at = yield* place
          const [bin, links] = [join(at.root, "bin"), join(at.root, "..", "links")]
          for (const folder of [bin, links]) mkdirSync(folder)
          writeProgram(join(bin, name), `exec /usr/bin/${name} "$@"`)
          symlinkSync(join(bin, name), join(links, name))
          repository(at.root)
          commitAll(at.root)
          const path = `${way === "in it" ? bin : links}:/usr/local/bin:/usr/bin:/bin`
          const refusal = yield* Effect.flip(openLayer(at.root)).pipe(
            Effect.provide(layerServices(at, mountPrograms(), path))
          )
          assert.include(JSON.stringify(refusal), "a run could replace it")
        }).pipe(Effect.scoped)
      )
})

describe("exposedPath", () => {
  const line = (device: string, root: string, path: string) =>
    `1 2 ${device} ${root} ${path} rw,relatime shared:1 - ext4 /dev/vda rw`
  const table = [
    line("254:0", "/", "/"),
    line("254:0", "/home/a/ws", "/mnt/bound"),
    line("254:0", "/home", "/mnt/with\\040space"),
    line("254:0", "/home/a/ws/sub", "/mnt/part"),
    line("254:0", "/other", "/mnt/other"),
    line("254:1", "/home/a/ws", "/mnt/disk")
  ].join("\n")

  it("names the other paths of a folder", () => {
    assert.deepStrictEqual(otherPathsOf("/home/a/ws", table), [
      "/mnt/bound",
      "/mnt/with space/a/ws",
      "/mnt/part"
    ])
    assert.deepStrictEqual(otherPathsOf("/srv/x", table), [])
  })

  it("says which of them a mount shows", () => {
    const exposed = (source: string) =>
      exposedPath([{ kind: "read", path: "/a", source }], "/home/a/ws", table)
    assert.strictEqual(exposed("/mnt"), "/mnt/bound")
    assert.strictEqual(exposed("/mnt/part"), "/mnt/part")
    assert.isUndefined(exposed("/usr"))
  })
})
