/** Files that a program puts into the folder that `CORRAL_ARTIFACTS` names. */
import type { Artifact } from "@corral/domain/run/Artifact"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { EdgeProcess as Edge } from "@corral/testing/edge/EdgeProcess"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { assertWhole } from "../harness/LogInvariants.ts"

const artifactsOf = async ({ client }: EdgeProcess, id: string): Promise<ReadonlyArray<Artifact>> =>
  (
    (await client.ask("GET", `/v1/runs/${id}/artifacts?limit=200`)).body as {
      readonly items: ReadonlyArray<Artifact>
    }
  ).items

const namesOf = async (edge: EdgeProcess, id: string) => (await artifactsOf(edge, id)).map(({ name }) => name)

const contentOf = async ({ client }: EdgeProcess, { id }: Artifact): Promise<string> =>
  (await client.bytes("GET", `/v1/artifacts/${id}/content`)).bytes.toString()

/** A run of these commands, to its end. */
const ended = async (edge: EdgeProcess, ...commands: ReadonlyArray<string>) => {
  const script = commands.map((command) => `/shell ${command}`).join("\n")
  const { id } = await edge.client.create(script, "full_access")
  const log = await edge.client.log(id)
  assertWhole(log)
  const notices = log.flatMap(({ payload, type }) => (type === "run.notice" ? [String(payload["text"])] : []))
  return { id, log, notices }
}

describe("Artifacts of a program", () => {
  it("are published after a tool call, again when they change, and once otherwise", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const script = [
      '/shell printf one > "$CORRAL_ARTIFACTS/report.txt"',
      "/wait",
      '/shell printf two > "$CORRAL_ARTIFACTS/report.txt"; printf "<p>" > "$CORRAL_ARTIFACTS/page.html"',
      "/shell true"
    ]
    const { id } = await edge.client.create(script.join("\n"), "full_access")
    const reader = await edge.client.follow({ runId: id })
    const ready = await reader.event("run.artifact.ready")
    assert.deepInclude(ready.payload, { name: "report.txt", mediaType: "text/plain", size: 3 })
    await edge.client.ask("POST", `/v1/runs/${id}/input`, { body: { text: "continue" } })
    await reader.ended
    assertWhole(reader.events)
    assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
    const artifacts = await artifactsOf(edge, id)
    const contents = await Promise.all(artifacts.map((artifact) => contentOf(edge, artifact)))
    assert.deepStrictEqual(
      artifacts.map(({ name }, at) => [name, contents[at]]),
      [
        ["report.txt", "one"],
        ["page.html", "<p>"],
        ["report.txt", "two"]
      ]
    )
    assert.deepStrictEqual(
      reader.events.filter(({ type }) => type === "run.artifact.ready").length,
      artifacts.length
    )
    const tmp = join(edge.home, "tmp")
    assert.isTrue(!existsSync(tmp) || readdirSync(tmp).length === 0)
  })

  it("are published before the end of a program without tool calls, also if it fails", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const command = ["sh", "-c", 'echo last > "$CORRAL_ARTIFACTS/out.txt"; cat > /dev/null; exit 3']
    const body = {
      id: "writer",
      kind: "runner",
      settings: { label: "W", runtime: "text", command, stdin: "prompt" }
    }
    assert.strictEqual((await edge.client.ask("POST", "/v1/presets", { body })).status, 201)
    const { id } = await edge.client.create("Hello", "full_access", { agentId: "writer" })
    const log = await edge.client.log(id)
    assertWhole(log)
    assert.strictEqual(log.at(-1)?.type, "run.failed")
    assert.deepStrictEqual(await namesOf(edge, id), ["out.txt"])
  })

  it("are regular files with one name, without credentials and up to 50 MiB; a notice names others once", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const { id, notices } = await ended(
      edge,
      'cd "$CORRAL_ARTIFACTS"; echo good > good.txt; ln -s /etc/passwd link; mkfifo pipe; mkdir folder; echo a=b > .env',
      // Each file appears as a whole: the look after the first call may still come.
      'cd "$CORRAL_ARTIFACTS"; truncate -s 52428801 ../big; echo x > ../one; ln ../one one; ln one two; truncate -s 52428800 ../fits; mv ../big big.bin; mv ../fits fits.bin'
    )
    assert.sameMembers([...(await namesOf(edge, id))], ["good.txt", "fits.bin"])
    assert.deepStrictEqual(notices.toSorted(), [
      '".env" is not published: it may hold credentials.',
      '"big.bin" is not published: it is larger than 50 MiB.',
      '"folder" is not published: it is a folder.',
      '"link" is not published: it is a link.',
      '"one" is not published: it is a link.',
      '"pipe" is not published: it is not a regular file.',
      '"two" is not published: it is a link.'
    ])
  })

  it("have any name that a file can have", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const names = [
      "a b",
      "-rf",
      "..x",
      "a\\\\b",
      "*",
      "\\377.txt",
      "caf\\351",
      "\\342\\200\\256txt",
      "a\\nb",
      "%%2e%%2e",
      "con:1",
      "\\357\\277\\275"
    ]
    const files = names.map((name) => `printf x > "$(printf -- '${name}')."`).join("; ")
    const { id, notices } = await ended(edge, `cd "$CORRAL_ARTIFACTS"; ${files}`)
    assert.deepStrictEqual(notices, [])
    assert.lengthOf(await namesOf(edge, id), names.length)
  })

  it("are named in a notice where their name leads out of the folder elsewhere", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const { id, notices } = await ended(
      edge,
      'cd "$CORRAL_ARTIFACTS"; printf x > "c:"; printf x > "$(printf "..\\\\up")"'
    )
    assert.deepStrictEqual(await namesOf(edge, id), [])
    assert.deepStrictEqual(notices, [
      String.raw`"..\\up" is not published: it can't be read.`,
      `"c:" is not published: it can't be read.`
    ])
  })

  it("have names without the secrets of the run", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const { id, notices } = await ended(
      edge,
      'cd "$CORRAL_ARTIFACTS"; echo 1 > sk-ant-api03-$(printf "%093d" 0 | tr 0 a)AA.txt; mkdir ghp_$(printf "%036d" 0 | tr 0 Q)'
    )
    const shown = JSON.stringify([await artifactsOf(edge, id), notices])
    assert.notMatch(shown, /a{90}|Q{30}/)
    assert.lengthOf(await artifactsOf(edge, id), 1)
    assert.lengthOf(notices, 1)
  })

  it("are 100 in a run, and notices are bounded", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const { id, notices } = await ended(
      edge,
      'cd "$CORRAL_ARTIFACTS"; for n in $(seq 103); do echo $n > f$n; done; for n in $(seq 40); do ln -s /etc l$n; done'
    )
    assert.lengthOf(await namesOf(edge, id), 100)
    const entries = readdirSync(join(edge.home, "artifacts"), { recursive: true, withFileTypes: true })
    assert.isAtMost(entries.filter((entry) => entry.isFile()).length, 101)
    assert.lengthOf(notices, 22)
    assert.include(notices, "A run has at most 100 published artifacts. Further files are not published.")
    assert.include(notices, "Further files of the run are not published.")
  })

  it("are not those of another folder that the program puts in its place", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const { id, notices } = await ended(edge, 'rm -r "$CORRAL_ARTIFACTS"; ln -s /etc "$CORRAL_ARTIFACTS"')
    assert.deepStrictEqual(await namesOf(edge, id), [])
    assert.deepStrictEqual(notices, ["The folder for artifacts was replaced. Nothing of it is published."])
    const many = await ended(edge, 'cd "$CORRAL_ARTIFACTS"; seq 1 1500 | xargs mkdir')
    assert.include(
      many.notices,
      "The folder for artifacts has more than 1000 entries. Others are not published."
    )
  })

  it("are not lost in silence with a run whose Edge was killed", async () => {
    const edge = new Edge({ grants: ["full_access"] })
    onTestFinished(() => edge.remove())
    await edge.start()
    const { id } = await edge.client.create('/shell echo 1 > "$CORRAL_ARTIFACTS/a"\n/wait', "full_access")
    await (await edge.client.follow({ runId: id })).event("run.artifact.ready")
    await edge.kill()
    await edge.start()
    const log = await edge.client.log(id)
    assertWhole(log)
    assert.deepStrictEqual(await namesOf(edge, id), ["a"])
    const notice = log.find(({ type }) => type === "run.notice")
    assert.match(String(notice?.payload["text"]), /^The Edge ended before the run\./)
  })

  it("are published once by an Edge that continues the run of another one", async () => {
    const edge = new Edge({ grants: ["full_access"], env: { CORRAL_EDGE_ORPHAN_MS: "60000" } })
    onTestFinished(() => edge.remove())
    await edge.start()
    const script = [
      '/shell cd "$CORRAL_ARTIFACTS"; for n in $(seq 60); do echo $n > f$n; done',
      "/wait",
      '/shell cd "$CORRAL_ARTIFACTS"; for n in $(seq 61 110); do echo $n > f$n; done'
    ]
    const { id } = await edge.client.create(script.join("\n"), "full_access")
    const first = await edge.client.follow({ runId: id })
    await first.event((event) => event.type === "run.artifact.ready" && event.payload["name"] === "f9")
    await edge.kill()
    await edge.start()
    const reader = await edge.client.follow({ runId: id })
    await edge.client.ask("POST", `/v1/runs/${id}/input`, { body: { text: "continue" } })
    await reader.ended
    assertWhole(reader.events)
    assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
    const names = await namesOf(edge, id)
    assert.lengthOf(names, 100)
    assert.lengthOf([...new Set(names)], 100)
    assert.includeMembers(names, ["f1", "f60"])
  })
})
