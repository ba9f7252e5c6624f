import { assert, describe, it } from "@effect/vitest"
import { feishuFormValues } from "../../src/feishu/Normalization.ts"
import { toFeishuCard } from "../../src/feishu/FeishuCard.ts"
import { sameInAllLanguages } from "../../src/platform/ChatPlatform.ts"
import { slackFormValues } from "../../src/slack/Normalization.ts"

const click = (action: object) => ({ body: JSON.stringify({ operator: { open_id: "ou_1" }, action }) })

const slackClick = (state: unknown) => ({
  body: JSON.stringify({
    type: "block_actions",
    team: { id: "T1" },
    user: { id: "U1" },
    actions: [{ action_id: "action-0", action_ts: "1.2" }],
    state
  })
})

describe("form values", () => {
  it("are read from a click in Feishu", () => {
    const values = { q0: "1", q1: ["0", "2"], q2: "text", q3: "", q4: [] }
    assert.deepStrictEqual(feishuFormValues(click({ value: { a: "x" }, form_value: values })), {
      q0: ["1"],
      q1: ["0", "2"],
      q2: ["text"]
    })
    assert.deepStrictEqual(feishuFormValues(click({ value: { a: "x" } })), {})
    assert.deepStrictEqual(feishuFormValues({ body: "{" }), {})
  })

  it("are read from a click in Slack", () => {
    const values = {
      q0: { value: { type: "static_select", selected_option: { value: "1", text: {} } } },
      q1: { value: { type: "multi_static_select", selected_options: [{ value: "0" }, { value: "2" }] } },
      q2: { value: { type: "plain_text_input", value: "text" } },
      q3: { value: { type: "static_select", selected_option: null } },
      q4: { value: { type: "plain_text_input", value: null } }
    }
    assert.deepStrictEqual(slackFormValues(slackClick({ values })), {
      q0: ["1"],
      q1: ["0", "2"],
      q2: ["text"]
    })
    assert.deepStrictEqual(slackFormValues(slackClick(undefined)), {})
  })

  it("come from a form in Feishu, which its buttons send", () => {
    const label = sameInAllLanguages("Colour")
    const card = toFeishuCard(
      {
        title: label,
        tone: "attention",
        lines: [],
        fields: [
          { _tag: "Select", name: "q0", label, options: [{ value: "0", label }], multiple: true },
          { _tag: "Text", name: "q1", label }
        ],
        buttons: [
          { _tag: "Action", label, actionId: "send", style: "primary", submits: true },
          { _tag: "Action", label, actionId: "skip", style: "plain" }
        ]
      },
      "en"
    )
    const [form, row] = card.body.elements
    const text = JSON.stringify(form)
    for (const part of [
      '"tag":"form"',
      '"multi_select_static"',
      '"input"',
      '"form_action_type":"submit"',
      '"a":"send"'
    ])
      assert.include(text, part)
    assert.notInclude(text, '"a":"skip"')
    assert.include(JSON.stringify(row), '"a":"skip"')
  })
})
