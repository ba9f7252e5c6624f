/** Every key of the list of keys, in a real browser: a key without a case here fails. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import type { Locator, Page } from "playwright-core"
import { makeSession } from "@corral/testing/hub/People"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { keysMessages } from "../../src/keys/messages.ts"
import { hoursFile, openChanges } from "../harness/ChangeScenes.ts"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"
import { untilLettersAct } from "../harness/KeysDialog.ts"
import { pressesOf } from "../harness/keyPresses.ts"
import { ScriptedHub } from "../harness/ScriptedHub.ts"
import { sendMessage, sessionWithAgent, turnWith } from "../harness/SessionFixtures.ts"

/** What a combination must do. `press` presses it. */
type KeyCase = (press: () => Promise<void>) => Promise<unknown>
/** Cases of a group, in their order on one page. */
type KeyCases = Readonly<Record<string, KeyCase>>

describe.skipIf(!hasChromium)("every listed key", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  let older: Session
  let hub: ScriptedHub | undefined
  afterAll(() => hub?.close())
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  beforeAll(async () => {
    older = await makeSession(joined.owner, { id: joined.projectId }, "Older")
    await makeSession(joined.owner, { id: joined.projectId }, "Newer")
  })

  const at = (target: string): Promise<Page> =>
    browser.page(joined.front.url, token, target, { viewport: { width: 1_280, height: 800 } })
  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name })
  const field = (page: Page) => page.getByRole("textbox", { name: "Message" })
  const pressUntil = async (press: () => Promise<void>, seen: Locator): Promise<void> => {
    await press()
    await seen.waitFor()
  }
  const messageWith = ({ id }: Session, holds: (message: Message) => boolean): Promise<Message> =>
    until(
      async () => {
        const path = `/client/sessions/${id}/messages?limit=200`
        const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<Message> }>("GET", path)
        return body.items.find(holds)
      },
      "the message",
      30_000
    )

  const everywhere = (page: Page): KeyCases => {
    const palette = page.getByRole("combobox", { name: "Search and commands" })
    const opensPalette: KeyCase = async (press) => {
      await pressUntil(press, palette)
      await page.keyboard.press("Escape")
      await palette.waitFor({ state: "detached" })
    }
    const startsSession: KeyCase = async (press) => {
      await press()
      await page.waitForURL((url) => url.pathname === "/start")
      await page.goto(`/sessions/${older.id}`)
      await heading(page, "Older").click()
      const list = page.getByRole("navigation", { name: "Sessions" })
      await list.getByRole("link", { name: "Newer" }).waitFor()
    }
    return {
      "Ctrl K": opensPalette,
      "⌘ K": opensPalette,
      c: startsSession,
      "Ctrl Shift O": startsSession,
      "Alt ↑": (press) => pressUntil(press, heading(page, "Newer")),
      "Alt ↓": (press) => pressUntil(press, heading(page, "Older")),
      "?": async (press) => {
        // A session opens with the focus in its composer.
        await field(page).blur()
        // After the reload of the case before, letters act once the preferences are read.
        await until(async () => {
          await press()
          return (await page.getByRole("dialog", { name: "Keyboard shortcuts" }).isVisible()) || undefined
        }, "the list of keys")
      }
    }
  }

  const inMessages = (page: Page, session: Session): KeyCases => ({
    "Shift Enter": async (press) => {
      await field(page).fill("/wait")
      await press()
      await page.keyboard.type("second line")
      assert.strictEqual(await field(page).inputValue(), "/wait\nsecond line")
      // For further input, and for the stop.
      await field(page).fill("/wait\n/wait")
    },
    Enter: (press) => pressUntil(press, page.getByRole("button", { name: "Queue", exact: true })),
    "Ctrl Enter": async (press) => {
      await page.getByText("Ctrl Enter sends now").waitFor()
      await field(page).fill("more")
      await press()
      await messageWith(
        session,
        ({ delivery, text, when }) => text === "more" && when === "now" && delivery?.state === "delivered"
      )
    },
    "Esc Esc": async (press) => {
      await press()
      await turnWith(joined, session, ({ state }) => state === "cancelled")
    }
  })

  const inApprovals = (page: Page): KeyCases => {
    const goesTo =
      (key: string): KeyCase =>
      (press) =>
        pressUntil(press, page.locator(`[data-key=${key}]:focus`))
    return {
      j: (press) => pressUntil(press, page.getByRole("heading", { name: "Write second.txt" })),
      k: (press) => pressUntil(press, page.getByRole("heading", { name: "Write first.txt" })),
      a: goesTo("a"),
      Esc: async (press) => {
        await press()
        assert.strictEqual(await page.locator("[data-key]:focus").count(), 0)
      },
      d: goesTo("d"),
      e: async (press) => {
        await page.keyboard.press("Escape")
        await goesTo("e")(press)
      },
      Enter: async (press) => {
        await pressUntil(press, page.getByRole("form", { name: "Edited action" }))
        await page.getByRole("button", { name: "Back", exact: true }).click()
        await page.locator("[data-key=d]").focus()
        await pressUntil(press, page.locator(".outcome-denied"))
      }
    }
  }

  const inQuestions = (page: Page): KeyCases => {
    const chosen = page.locator(".option input:checked:focus")
    return {
      "1": (press) => pressUntil(press, chosen),
      Esc: async (press) => {
        await press()
        assert.strictEqual(await page.locator(".option input:checked").count(), 0)
      },
      Enter: async (press) => {
        await page.keyboard.press("1")
        await chosen.waitFor()
        // What the agent has received. The outcome is folded with the turn, which ends at once.
        await pressUntil(press, page.getByText('answered {"1":"1"}'))
      }
    }
  }

  const inChanges = (page: Page): KeyCases => {
    const file = (path: string) => page.locator(`.file-fold[data-path="${path}"]:focus`)
    const line = (name: string) => page.locator(`[aria-label^="${name}"]:focus`)
    return {
      n: async (press) => {
        await pressUntil(press, file("a.ts"))
        await pressUntil(press, file("b.ts"))
      },
      p: (press) => pressUntil(press, file("a.ts")),
      j: async (press) => {
        await pressUntil(press, line("line 1, added: one"))
        await pressUntil(press, line("line 2, added: two"))
      },
      k: (press) => pressUntil(press, line("line 1, added: one")),
      v: (press) => pressUntil(press, page.getByText("viewed 1 of 2")),
      c: async (press) => {
        await page.keyboard.press("n")
        await page.keyboard.press("j")
        await line("line 1, added: three").waitFor()
        await pressUntil(press, page.getByRole("textbox", { name: "Comment on line 1" }))
      },
      "Ctrl Shift Enter": async (press) => {
        await page.keyboard.type("Why three?")
        await pressUntil(press, page.getByText("1 comment sent."))
      }
    }
  }

  const inDecisions = (page: Page): KeyCases => ({
    e: (press) => pressUntil(press, page.getByText("/** Opening hours of the shop. */")),
    a: async (press) => {
      await press()
      await page.locator("[data-key=a]:focus").waitFor()
    },
    d: async (press) => {
      await page.keyboard.press("Escape")
      await press()
      await page.locator("[data-key=d]:focus").waitFor()
    },
    Enter: async (press) => {
      await press()
      await page.getByText("Rejected 1 file").first().waitFor()
    }
  })

  /** The page on which the keys of a group work, and their cases. */
  const groups: Readonly<Record<string, () => Promise<readonly [page: Page, cases: KeyCases]>>> = {
    Everywhere: async () => {
      const page = await at(`/sessions/${older.id}`)
      await heading(page, "Older").click()
      await untilLettersAct(page)
      await heading(page, "Older").click()
      return [page, everywhere(page)]
    },
    Messages: async () => {
      const session = await sessionWithAgent(joined, "Messages")
      const page = await at(`/sessions/${session.id}`)
      await field(page).focus()
      return [page, inMessages(page, session)]
    },
    Approvals: async () => {
      for (const name of ["first", "second"]) {
        const { runId } = await joined.task({ text: `/write ${name}.txt x` })
        await joined.runWith(runId, ({ pendingApprovals }) => pendingApprovals.length > 0)
      }
      const page = await at("/approvals")
      await page.getByRole("heading", { name: "Write first.txt" }).waitFor()
      await page.getByRole("link", { name: /second\.txt/ }).waitFor()
      await untilLettersAct(page)
      return [page, inApprovals(page)]
    },
    Questions: async () => {
      const session = await sessionWithAgent(joined, "Questions")
      await sendMessage(joined, session, "/question Which colour? | Red | Blue")
      const page = await at(`/sessions/${session.id}`)
      // A new card reacts to no key, until someone clicks on it.
      await page.locator(".input-card h2").click()
      await page.locator(".input-card").focus()
      return [page, inQuestions(page)]
    },
    Changes: async () => {
      const session = await sessionWithAgent(joined, "Changes", "auto_edit")
      await sendMessage(joined, session, "/write a.ts one\\ntwo\n/write b.ts three")
      await turnWith(joined, session, ({ state }) => state === "completed")
      const page = await at(`/sessions/${session.id}?panel=changes`)
      await page.locator(`.file-fold[data-path="a.ts"]`).waitFor()
      await page.getByRole("group", { name: "Changed lines" }).focus()
      return [page, inChanges(page)]
    },
    "Changes to decide": async () => {
      hub = await ScriptedHub.open()
      openChanges(hub, [hoursFile])
      const page = await browser.page(hub.url, "sign-in", `${hub.thread}?panel=changes`)
      await page.getByText("Lines 4–9").waitFor()
      await heading(page, "Opening hours").click()
      await untilLettersAct(page)
      await page.getByRole("group", { name: "Changed lines" }).focus()
      await page.keyboard.press("n")
      return [page, inDecisions(page)]
    }
  }

  it("leaves approvals alone where single letters are switched off", async () => {
    const { runId } = await joined.task({ text: "/write quiet.txt x" })
    await joined.runWith(runId, ({ pendingApprovals }) => pendingApprovals.length > 0)
    const page = await at("/approvals")
    const focused = page.locator("[data-key]:focus")
    await page.locator("[data-key=d]").waitFor()
    const keys = page.getByRole("dialog", { name: "Keyboard shortcuts" })
    const setLetters = async (isOn: boolean): Promise<void> => {
      await page.keyboard.press("Control+k")
      await page.getByRole("option", { name: "Show keyboard shortcuts" }).click()
      // Unchecked also until the preferences are read.
      await keys.getByRole("checkbox", { checked: !isOn }).click()
      await keys.getByRole("checkbox", { checked: isOn }).waitFor()
      await page.keyboard.press("Escape")
      await keys.waitFor({ state: "detached" })
    }
    await setLetters(false)
    await page.keyboard.press("d")
    assert.strictEqual(await focused.count(), 0)
    await setLetters(true)
    await page.keyboard.press("d")
    assert.strictEqual(await focused.count(), 1)
    await joined.owner.ask("PATCH", "/client/preferences", { body: { singleKeys: null } })
    await joined.owner.ask("POST", `/client/runs/${runId}/cancel`)
    await joined.runWith(runId, ({ state }) => state === "cancelled")
    await browser.end(page)
  })

  it.each(keysMessages.en.groups.map(([name, keys]) => ({ name, keys })))(
    "works: $name",
    async ({ keys, name }) => {
      const open = groups[name]
      assert.isDefined(open, `no cases for ${name}`)
      const [page, cases] = await open()
      const listed = keys.flatMap(([, ...combinations]) => combinations)
      assert.sameMembers(Object.keys(cases), listed)
      for (const [combination, check] of Object.entries(cases))
        await check(async () => {
          for (const key of pressesOf(combination)) await page.keyboard.press(key)
        })
      await browser.end(page)
    }
  )
})
