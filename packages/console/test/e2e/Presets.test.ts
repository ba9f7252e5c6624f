/** Profiles of a device in the console, with a real Hub and a real Edge. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import type { Preset } from "@corral/domain/run/Preset"
import type { Joined } from "@corral/testing/stack/Joined"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Page } from "playwright-core"
import { type ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"

describe.skipIf(!hasChromium)("profiles in the console", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  afterEach(() => assert.deepStrictEqual(browser.complaints, []))

  const presets = async (): Promise<ReadonlyArray<Preset>> => {
    const { body } = await joined.edge.client.ask("GET", "/v1/presets")
    return (body as { readonly items: ReadonlyArray<Preset> }).items
  }
  const rowOf = (page: Page, text: string) => page.getByRole("listitem").filter({ hasText: text })
  const chosen = async (page: Page, text: string, name: string) => {
    await rowOf(page, text)
      .getByRole("button", { name: /^Actions for / })
      .click()
    await page.getByRole("menuitem", { name, exact: true }).click()
  }

  it("are added, changed and removed by the device's owner", async () => {
    const page = await browser.page(joined.front.url, token, "/devices")
    await page.getByRole("button", { name: /^Actions for / }).click()
    await page.getByRole("menuitem", { name: "Profiles" }).click()
    await page.getByText("No profiles yet.").waitFor()

    await page.getByRole("button", { name: "Add profile" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("ID", { exact: true }).fill("scripted")
    await dialog.getByLabel("Name").fill("Careful")
    await dialog.getByLabel("Adapter").selectOption("scripted")
    assert.strictEqual(await dialog.getByLabel("Widest mode").inputValue(), "ask")
    assert.deepStrictEqual(await seriousOf(page), [])
    await dialog.getByRole("button", { name: "Add profile" }).click()
    await dialog.getByText("this id is taken").waitFor()
    await dialog.getByLabel("ID", { exact: true }).fill("careful")
    await dialog.getByRole("button", { name: "Add profile" }).click()
    await dialog.waitFor({ state: "detached" })
    await rowOf(page, "careful · scripted · Ask before each action").waitFor()

    await chosen(page, "careful", "Change profile")
    await dialog.getByLabel("Widest mode").selectOption("read_only")
    await dialog.getByLabel("Model").fill("small")
    await dialog.getByRole("button", { name: "Save" }).click()
    await rowOf(page, "careful · scripted · Read only · small").waitFor()
    assert.deepStrictEqual(
      (await presets()).map(({ settings }) => settings),
      [{ label: "Careful", adapter: "scripted", mode: "read_only", model: "small" }]
    )

    await chosen(page, "careful", "Remove")
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click()
    await page.getByText("No profiles yet.").waitFor()
    assert.deepStrictEqual(await presets(), [])
    await browser.end(page)
  })

  it("that do more than narrow are shown by their names, without actions", async () => {
    const { client } = joined.edge
    const body = {
      id: "parrot",
      kind: "runner",
      settings: { label: "Parrot", runtime: "text", command: ["secret-tool", "{prompt}"] }
    }
    assert.strictEqual((await client.ask("POST", "/v1/presets", { body })).status, 201)
    const page = await browser.page(joined.front.url, token, `/devices/${joined.deviceId}/presets`, {
      locale: "zh-CN"
    })
    await page.getByText("只能在设备上更改").waitFor()
    assert.notInclude(await page.content(), "secret-tool")
    await rowOf(page, "Parrot").getByRole("button").click()
    await page.getByRole("menuitem").first().waitFor()
    assert.strictEqual(await page.getByRole("menuitem").count(), 1)
    await browser.end(page)
    assert.strictEqual((await client.ask("DELETE", "/v1/presets/parrot")).status, 204)
  })

  it("need a recent sign-in, which the dialog offers", async () => {
    const { signInId, token: old } = await joined.hub.people.signIn("owner", "web")
    await joined.hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`UPDATE sign_ins SET authenticated_at = now() - interval '1 hour' WHERE id = ${signInId}`
      )
    )
    const page = await browser.page(joined.front.url, old, `/devices/${joined.deviceId}/presets`)
    await page.getByRole("button", { name: "Add profile" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("ID", { exact: true }).fill("careful")
    await dialog.getByLabel("Name").fill("Careful")
    await dialog.getByRole("button", { name: "Add profile" }).click()
    await dialog.getByText("your last sign-in is more than 15 minutes old").waitFor()
    await dialog.getByRole("link", { name: "Sign in again" }).waitFor()
    assert.deepStrictEqual(await presets(), [])
    await browser.end(page)
  })
})
