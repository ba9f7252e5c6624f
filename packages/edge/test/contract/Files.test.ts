/** Workspace files over real HTTP; the client judges each answer by the published contract. */
import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"

interface Page {
  readonly items: ReadonlyArray<{ readonly path: string }>
  readonly nextCursor: string | null
}

describe("Workspace files", () => {
  it("are listed in pages and shown, and nothing outside is", async () => {
    const edge = await openEdgeInProcess()
    const { client } = edge
    mkdirSync(join(edge.workspace, "docs"))
    for (let i = 0; i < 5; i++) writeFileSync(join(edge.workspace, "docs", `${i}.md`), `# ${i}\n`)
    symlinkSync(edge.home, join(edge.workspace, "home"))
    const { items } = (await client.ask("GET", "/v1/workspaces")).body as {
      readonly items: ReadonlyArray<{ readonly id: string }>
    }
    const base = `/v1/workspaces/${items[0]?.id ?? ""}`

    const found: Array<string> = []
    for (let cursor: string | null = ""; cursor !== null;) {
      const query = cursor === "" ? "" : `&cursor=${cursor}`
      const answer = await client.ask("GET", `${base}/files?path=docs&limit=2${query}`)
      assert.strictEqual(answer.status, 200)
      const page = answer.body as Page
      found.push(...page.items.map(({ path }) => path))
      if (page.nextCursor !== null) {
        const elsewhere = await client.ask("GET", `${base}/files?path=&cursor=${page.nextCursor}`)
        assert.strictEqual(elsewhere.status, 422, "a cursor of another folder")
      }
      cursor = page.nextCursor
    }
    assert.deepStrictEqual(found, ["docs/0.md", "docs/1.md", "docs/2.md", "docs/3.md", "docs/4.md"])

    const file = await client.ask("GET", `${base}/file?path=${encodeURIComponent("docs/3.md")}`)
    assert.deepStrictEqual(
      [file.status, file.body],
      [200, { path: "docs/3.md", mediaType: "text/markdown", size: 4, encoding: "utf8", content: "# 3\n" }]
    )

    writeFileSync(join(edge.workspace, "bytes"), Buffer.from([0, 255, 1, 254]))
    const bytes = await client.ask("GET", `${base}/file?path=bytes`)
    assert.deepInclude(bytes.body, { size: 4, encoding: "base64", content: "AP8B/g==" })
    writeFileSync(join(edge.workspace, "long.txt"), "x".repeat(1_048_577))
    const long = (await client.ask("GET", `${base}/file?path=long.txt`)).body
    assert.deepInclude(long, { size: 1_048_577, encoding: "utf8", truncated: true })
    assert.lengthOf((long as { readonly content: string }).content, 1_048_576)

    const refusals: ReadonlyArray<readonly [target: string, status: number, code: string]> = [
      [`${base}/file?path=nowhere`, 404, "not_found"],
      [`${base}/file`, 422, "schema_validation_failed"],
      [`${base}/files?path=docs&limit=0`, 422, "schema_validation_failed"],
      ...[
        "../home/edge.token",
        "home/edge.token",
        "%2Fetc%2Fpasswd",
        "docs%2F..%2F..%2Fhome%2Fedge.token",
        "..%5Chome"
      ].flatMap((path) =>
        ["file", "files"].map(
          (kind) => [`${base}/${kind}?path=${path}`, 403, "workspace_outside_allowlist"] as const
        )
      ),
      ["/v1/workspaces/nowhere/files", 403, "workspace_outside_allowlist"],
      ["/v1/workspaces/..%2f..%2fetc/file?path=passwd", 403, "workspace_outside_allowlist"]
    ]
    for (const [target, status, code] of refusals) {
      const answer = await client.ask("GET", target)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [status, code], target)
      assert.notInclude(answer.text, edge.token)
    }
    assert.strictEqual((await client.ask("GET", `${base}/file?path=docs/3.md`, { token: null })).status, 401)
  })

  it("are found by their names in the whole workspace, folders by their entries", async () => {
    const edge = await openEdgeInProcess()
    const { client } = edge
    for (const path of ["src/deep/Reader.ts", "src/readme.txt", ".git/reader"]) {
      mkdirSync(join(edge.workspace, dirname(path)), { recursive: true })
      writeFileSync(join(edge.workspace, path), "")
    }
    const { items } = (await client.ask("GET", "/v1/workspaces")).body as {
      readonly items: ReadonlyArray<{ readonly id: string }>
    }
    const base = `/v1/workspaces/${items[0]?.id ?? ""}`
    const find = async (query: string) => {
      const answer = await client.ask("GET", `${base}/find?${query}`)
      assert.strictEqual(answer.status, 200, query)
      return (answer.body as Page).items.map(({ path }) => path)
    }
    assert.deepStrictEqual(await find("q=reader"), ["src/deep/Reader.ts"])
    assert.deepStrictEqual(await find("q=src%2F"), ["src/deep", "src/readme.txt", "src/deep/Reader.ts"])
    assert.deepStrictEqual(await find("q=re&limit=1"), ["src/readme.txt"])
    assert.include(await find(""), "src")
    assert.deepStrictEqual(await find("q=config.git"), [])
    assert.strictEqual(
      codeOf(await client.ask("GET", "/v1/workspaces/nope/find?q=a")),
      "workspace_outside_allowlist"
    )
    assert.strictEqual((await client.ask("GET", `${base}/find?q=${"x".repeat(300)}`)).status, 422)
    await edge.stop()
  })
})
