/** UI text of the keys. */
import { bilingual } from "../text/Language.tsx"

type KeyGroup = readonly [
  name: string,
  keys: ReadonlyArray<readonly [what: string, ...combinations: ReadonlyArray<string>]>
]

export const keysMessages = bilingual<{
  readonly title: string
  readonly close: string
  readonly singleKeys: string
  readonly groups: ReadonlyArray<KeyGroup>
}>(
  {
    title: "Keyboard shortcuts",
    close: "Close",
    singleKeys: "Use single letters as shortcuts outside text fields",
    groups: [
      [
        "Everywhere",
        [
          ["Search and commands", "Ctrl K", "⌘ K"],
          ["New session", "c", "Ctrl Shift O"],
          ["Previous or next session", "Alt ↑", "Alt ↓"],
          ["These shortcuts", "?"]
        ]
      ],
      [
        "Messages",
        [
          ["Send", "Enter"],
          ["New line", "Shift Enter"],
          ["Send now, while the agent works", "Ctrl Enter"],
          ["Stop the agent", "Esc Esc"]
        ]
      ],
      [
        "Approvals",
        [
          ["Next or previous approval", "j", "k"],
          ["Go to Allow", "a"],
          ["Go to Deny", "d"],
          ["Go to Edit", "e"],
          ["Confirm, as the next key", "Enter"],
          ["Go back without a decision", "Esc"]
        ]
      ],
      [
        "Questions",
        [
          ["Choose an option", "1"],
          ["Answer with what is chosen", "Enter"],
          ["Clear the choice", "Esc"]
        ]
      ],
      [
        "Changes",
        [
          ["Next or previous file", "n", "p"],
          ["Next or previous line", "j", "k"],
          ["Mark the file as viewed", "v"],
          ["Comment on the line", "c"],
          ["Send all comments", "Ctrl Shift Enter"]
        ]
      ],
      [
        "Changes to decide",
        [
          ["Show more lines around", "e"],
          ["Go to Accept", "a"],
          ["Go to Reject", "d"],
          ["Confirm, as the next key", "Enter"]
        ]
      ]
    ]
  },
  {
    title: "键盘快捷键",
    close: "关闭",
    singleKeys: "在文本框之外使用单字母快捷键",
    groups: [
      [
        "所有页面",
        [
          ["搜索与命令", "Ctrl K", "⌘ K"],
          ["新会话", "c", "Ctrl Shift O"],
          ["上一个或下一个会话", "Alt ↑", "Alt ↓"],
          ["显示快捷键", "?"]
        ]
      ],
      [
        "消息",
        [
          ["发送", "Enter"],
          ["换行", "Shift Enter"],
          ["智能体工作时立即发送", "Ctrl Enter"],
          ["停止智能体", "Esc Esc"]
        ]
      ],
      [
        "审批",
        [
          ["下一项或上一项审批", "j", "k"],
          ["转到“允许”", "a"],
          ["转到“拒绝”", "d"],
          ["转到“编辑”", "e"],
          ["随后确认", "Enter"],
          ["不作决定并返回", "Esc"]
        ]
      ],
      [
        "问题",
        [
          ["选择选项", "1"],
          ["提交所选回答", "Enter"],
          ["清除选择", "Esc"]
        ]
      ],
      [
        "更改",
        [
          ["下一个或上一个文件", "n", "p"],
          ["下一行或上一行", "j", "k"],
          ["将文件标记为已看", "v"],
          ["评论该行", "c"],
          ["发送全部评论", "Ctrl Shift Enter"]
        ]
      ],
      [
        "待决定的更改",
        [
          ["显示更多上下文", "e"],
          ["转到“接受”", "a"],
          ["转到“拒绝”", "d"],
          ["随后确认", "Enter"]
        ]
      ]
    ]
  }
)
