/** A provider that rotates tokens, two live runs and the user's own terminal: each renewal reaches the others. */
import { claudeFolders, kimiFolders } from "@corral/adapters/StateFolders"
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import { StateHome, write } from "./StateHome.ts"

const NAME = ".credentials.json"
const NOW_SECONDS = Math.floor(Date.now() / 1_000)
const credentials = (generation: number): string =>
  JSON.stringify({
    claudeAiOauth: {
      accessToken: `access-${generation}`,
      refreshToken: `refresh-${generation}`,
      expiresAt: Date.now() + generation * 60_000,
      scopes: ["user:inference"]
    }
  })

/** As programs do: the file appears whole. */
const renew = (path: string, text: string): void => {
  writeFileSync(`${path}.tmp`, text)
  renameSync(`${path}.tmp`, path)
}

/** Waits until a file satisfies a condition. */
const until = (path: string, isDone: (text: string | undefined) => boolean): Promise<void> =>
  new Promise((resolve) => {
    const look = () => {
      const text = existsSync(path) ? readFileSync(path, "utf8") : undefined
      if (!isDone(text)) return
      watcher.close()
      resolve()
    }
    const watcher = watch(dirname(path), look)
    look()
  })

const has = (generation: number) => (text: string | undefined) =>
  text?.includes(`"refresh-${generation}"`) === true

const open = async () => {
  const place = new StateHome(claudeFolders)
  const users = place.path(".claude", NAME)
  write(users, credentials(1))
  const [first, second] = [await place.open("run_1"), await place.open("run_2")]
  return {
    place,
    users,
    first,
    second,
    copies: [first, second].map(({ layer }) => join(layer, NAME)) as [string, string]
  }
}

describe("Sign-ins of live runs", () => {
  it("reach the user though an earlier Edge left an unfinished file", async () => {
    const { copies, first, second, users } = await open()
    for (const path of [users, ...copies]) writeFileSync(`${path}.corral`, "unfinished")
    renew(copies[0], credentials(2))
    await first.end()
    assert.isTrue(has(2)(readFileSync(users, "utf8")))
    assert.isTrue(has(2)(readFileSync(copies[1], "utf8")))
    await second.end()
  })

  it("reach the user and each other when one renews them, in any order", async () => {
    const { copies, first, second, users } = await open()
    const everywhere = [users, ...copies]
    for (const [generation, renewing] of [copies[0], copies[1], users, copies[0], users].entries()) {
      renew(renewing, credentials(generation + 2))
      for (const path of everywhere) await until(path, has(generation + 2))
    }
    await first.end()
    await second.end()
    assert.isTrue(has(6)(readFileSync(users, "utf8")))
  })

  it("end when the user signs out, and begin when the user signs in", async () => {
    const { copies, users } = await open()
    rmSync(users)
    for (const path of copies) await until(path, (text) => text === undefined)
    renew(users, credentials(5))
    for (const path of copies) await until(path, has(5))
  })

  it("reach the user from a run that renews them and ends at once", async () => {
    const { copies, first, users } = await open()
    renew(copies[0], credentials(3))
    await first.end()
    assert.isTrue(has(3)(readFileSync(users, "utf8")))
  })

  it("are exchanged again by the next Edge", async () => {
    const place = new StateHome(claudeFolders)
    const users = place.path(".claude", NAME)
    write(users, credentials(1))
    const { end, layer } = await place.open("run_1", { life: { isAdopted: false, isLeft: () => true } })
    await end()
    renew(join(layer, NAME), credentials(2))
    await place.restart()
    const over = await place.adopt("run_1")
    assert.isTrue(has(2)(readFileSync(users, "utf8")))
    await over()
  })

  it("stay the user's regardless of what a run makes of its copy", async () => {
    const { copies, place, second, users } = await open()
    const [planted] = copies
    const before = readFileSync(users, "utf8")
    const secret = place.path("other.json")
    write(secret, credentials(9))
    const attacks: ReadonlyArray<() => void> = [
      () => symlinkSync(secret, planted),
      () => execFileSync("mkfifo", [planted]),
      () => mkdirSync(planted),
      () => writeFileSync(planted, `${credentials(9)}${" ".repeat(70_000)}`),
      () => writeFileSync(planted, "{"),
      () =>
        writeFileSync(planted, JSON.stringify({ mcpOAuth: { evil: { accessToken: "x", expiresAt: 9e12 } } }))
    ]
    for (const attack of attacks) {
      rmSync(planted, { recursive: true, force: true })
      attack()
      // What the second run does is seen after what the first one did.
      renew(copies[1], before)
    }
    await second.end()
    assert.strictEqual(readFileSync(users, "utf8"), before)
    rmSync(planted, { recursive: true, force: true })
    linkSync(secret, planted)
  })

  it("are exchanged in a folder of the state, also if it does not exist, and never through a link", async () => {
    const place = new StateHome(kimiFolders)
    const file = (generation: number) =>
      JSON.stringify({
        access_token: `a-${generation}`,
        refresh_token: `r-${generation}`,
        expires_at: NOW_SECONDS + generation
      })
    const { layer } = await place.open("run_1")
    const copy = join(layer, "credentials", "kimi-code.json")
    write(place.path(".kimi-code/credentials/kimi-code.json"), file(1))
    await until(copy, (text) => text === file(1))
    const outside = place.path("outside")
    write(join(outside, "kimi-code.json"), file(7))
    rmSync(dirname(copy), { recursive: true })
    symlinkSync(outside, dirname(copy))
    const second = await place.open("run_2")
    renew(join(second.layer, "credentials", "kimi-code.json"), file(3))
    await until(place.path(".kimi-code/credentials/kimi-code.json"), (text) => text?.includes("a-3") === true)
    assert.strictEqual(readFileSync(join(outside, "kimi-code.json"), "utf8"), file(7))
  })
})
