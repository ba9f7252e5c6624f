/** UI text of the thread: its header, its turns and the work in them. */
import { bilingual } from "../text/Language.tsx"
import type { ActionKind, ActionState, WorkCounts } from "./ActionKind.ts"

type Verbs = Readonly<Record<ActionKind, Readonly<Record<"begins" | "doing" | "done", string>>>>

const verbs = bilingual<Verbs>(
  {
    read: { begins: "Read", doing: "Reading", done: "Read" },
    search: { begins: "Search", doing: "Searching", done: "Searched" },
    write: { begins: "Write", doing: "Writing", done: "Wrote" },
    command: { begins: "Run", doing: "Running", done: "Ran" },
    web: { begins: "Fetch", doing: "Fetching", done: "Fetched" },
    delegate: { begins: "Delegate", doing: "Delegating", done: "Delegated" },
    other: { begins: "", doing: "", done: "" }
  },
  {
    read: { begins: "读取", doing: "正在读取", done: "已读取" },
    search: { begins: "搜索", doing: "正在搜索", done: "已搜索" },
    write: { begins: "写入", doing: "正在写入", done: "已写入" },
    command: { begins: "运行", doing: "正在运行", done: "已运行" },
    web: { begins: "访问", doing: "正在访问", done: "已访问" },
    delegate: { begins: "委派", doing: "正在委派", done: "已委派" },
    other: { begins: "", doing: "", done: "" }
  }
)

type States = Readonly<Record<ActionState, string>>

const states = bilingual<States>(
  {
    started: "running",
    waiting: "needs approval",
    completed: "done",
    failed: "failed",
    denied: "denied",
    cancelled: "cancelled"
  },
  {
    started: "执行中",
    waiting: "需要审批",
    completed: "完成",
    failed: "失败",
    denied: "被拒绝",
    cancelled: "已取消"
  }
)

const some = (n: number, one: string, many: string): ReadonlyArray<string> =>
  n === 0 ? [] : [n === 1 ? `1 ${one}` : `${n.toLocaleString("en")} ${many}`]

const someZh = (n: number, what: string): ReadonlyArray<string> =>
  n === 0 ? [] : [`${what} ${n.toLocaleString("en")} 次`]

export const threadMessages = bilingual(
  {
    thread: "Thread",
    session: "Session",
    home: "Home",
    you: "You",
    agent: "Agent",
    note: "Note",
    sentWhile: "Sent while it worked",
    showAll: "Show all",
    showLess: "Show less",
    empty: "No messages yet",
    emptyHint: (agent: string, workspace: string, device: string) =>
      `Describe a task below. ${agent} works on it in ${workspace}${device === "" ? "" : ` on ${device}`}. Type @ to name files.`,
    emptyWithoutAgent: "Write a note to the members of the project, or add an agent to start work.",
    earlier: "Load earlier",
    earlierSteps: (n: number) => `Show ${n.toLocaleString("en")} earlier steps`,
    laterSteps: (n: number) => `Show ${n.toLocaleString("en")} later steps`,
    newBelow: "New below",
    toEnd: "Jump to latest",
    verbs: verbs.en,
    actionStates: states.en,
    explored: ({ reads, searches }: WorkCounts) =>
      reads === 0
        ? `Searched ${searches} times`
        : `Explored ${some(reads, "file", "files").join("")}${searches === 0 ? "" : `, ${some(searches, "search", "searches").join("")}`}`,
    exploring: "Exploring…",
    worked: (time: string) => `Worked for ${time}`,
    work: "Work",
    counts: ({ commands, edits, others, reads, searches }: WorkCounts): ReadonlyArray<string> => [
      ...some(reads, "read", "reads"),
      ...some(searches, "search", "searches"),
      ...some(edits, "edit", "edits"),
      ...some(commands, "command", "commands"),
      ...some(others, "other action", "other actions")
    ],
    files: (n: number) => (n === 1 ? "1 file changed" : `${n} files changed`),
    filesToDecide: (n: number) =>
      n === 1 ? "1 file to decide" : `${n.toLocaleString("en")} files to decide`,
    undoTurn: "Undo this turn…",
    undoDecision: "Undo the decision…",
    showChanges: "View changes",
    transcript: "Continued from a transcript",
    transcriptHint: "The agent's program did not remember the earlier turns, and received them as a text.",
    lastHeard: (text: string) => `Last heard: ${text}`,
    childSteps: (n: number) => (n === 1 ? "1 step" : `${n.toLocaleString("en")} steps`),
    earlierHidden: (n: number) => `${n.toLocaleString("en")} earlier steps are in the log.`,
    steps: (done: number, all: number) => `Steps: ${done} of ${all} done`,
    stepOf: (at: number, of: number, text: string) => `${at} of ${of}: ${text}`,
    allSteps: (n: number) => `Show all ${n} steps`,
    stepStates: {
      pending: "(open)",
      in_progress: "(in progress)",
      completed: "(done)",
      cancelled: "(dropped)"
    },
    inBackground: "In the background:",
    workStates: {
      running: "running",
      completed: "done",
      failed: "failed",
      stopped: "stopped",
      unfinished: "not finished"
    },
    background: (n: number) => `Working in the background: ${n}`,
    moreWork: (n: number) => `and ${n} more`,
    finish: "Finish",
    finishAsk: "Finish…",
    finishHint: "Stop the commands and complete the run.",
    finishTitle: (n: number) =>
      n === 1 ? "Stop the work in the background?" : `Stop all ${n} works in the background?`,
    finishText:
      "The run completes now. What is not done yet stays undone, and the agent does not report on it.",
    stopHint: "Cancel the run.",
    enlarge: (name: string) => `Enlarge ${name}`,
    loadImage: (name: string, size: string) => `Load ${name} (${size})`,
    loadSound: (name: string) => `Load recording: ${name}`,
    download: "Download",
    imageOf: (nth: number, all: number) => `Image ${nth} of ${all}`,
    imageStep: (nth: number, all: number, text: string) => `Step ${nth} of ${all}: ${text}`,
    imageBefore: "Previous image",
    imageAfter: "Next image",
    noContent: (name: string) => `${name}: the content is not available.`,
    resultKinds: { text: "Text", image: "Image", audio: "Recording", resource: "File" },
    working: "Working…",
    thinking: "Thinking…",
    writing: "Writing…",
    paused: "Paused",
    pause: "Pause",
    pauseHint: "Freeze the agent's programs. The time limits wait.",
    resume: "Resume",
    resumeHint: "Let the agent's programs continue.",
    starting: "Starting…",
    waitsForDevice: (device: string) => `Waiting for ${device === "" ? "the device" : device}`,
    states: {
      working: "Working",
      background: "In the background",
      paused: "Paused",
      waiting: "Needs you",
      others: "Needs another member",
      queued: "Waiting",
      offline: "Device offline",
      completed: "Done",
      failed: "Failed",
      cancelled: "Stopped",
      idle: ""
    },
    stopped: "Stopped.",
    failed: "The agent failed.",
    details: "Details",
    tryAgain: "Try again",
    showLog: "Show log",
    failureAdvice: {
      budget_exceeded: "Set a larger budget below the message field and continue, or split the task.",
      cost_unknown: "Set other limits below the message field, then try again.",
      run_timeout: "The time limit was reached. Try again, or split the task.",
      permission_denied: "Your role or the device's policy doesn't allow this.",
      approval_rejected: "The agent gave up after a request was denied. Tell it what to do instead.",
      other: "Try again, or tell the agent what to do instead."
    },
    lastLines: "Last lines of the program",
    confinedAdvice: {
      temporary:
        "A confined run has its own /tmp. Files of the device in /tmp are hidden: move what the program needs to its own folder or to the workspace.",
      hidden:
        "A confined run sees the workspace, the system's folders, and the folders of its program and of toolchains. What the program misses may be somewhere else.",
      refused:
        "The confinement of this run may not allow this. corral doctor --probe on the device shows what it refuses.",
      network:
        "A confined run reaches only hosts that are declared, allowed or approved. The device's CORRAL_EDGE_RUN_HOSTS lists more of them.",
      unknown:
        "This run was confined. If its program starts outside of Corral, something that it needs may be hidden."
    },
    stop: "Stop",
    more: "More",
    changes: "Changes",
    panelFiles: "Files",
    log: "Log",
    panel: "Details of the session",
    search: "Search and commands",
    close: "Close",
    project: "View project",
    rename: "Rename",
    archive: "Archive",
    reopen: "Reopen",
    fork: "Fork session",
    exportMarkdown: "Export as Markdown",
    exportJson: "Export as JSON",
    copyId: "Copy id",
    agents: "Agents",
    offline: (device: string) => `${device === "" ? "The device" : device} is offline.`,
    offlineSince: (device: string, time: string) =>
      `${device === "" ? "The device" : device} is offline since ${time}.`,
    silent: "device offline",
    silentSince: (time: string) => `device offline since ${time}`,
    offlineWork: "The run may still be working there.",
    offlineWaits: "Messages wait here.",
    devices: "Show devices",
    announced: {
      working: "The agent is working.",
      background: "The agent works in the background.",
      paused: "The agent is paused.",
      waiting: "The agent needs you.",
      others: "The agent waits for another member.",
      completed: "The agent is done.",
      failed: "The agent failed.",
      cancelled: "The agent was stopped."
    }
  },
  {
    thread: "对话",
    session: "会话",
    home: "首页",
    you: "您",
    agent: "智能体",
    note: "备注",
    sentWhile: "工作期间发送",
    showAll: "显示全部",
    showLess: "收起",
    empty: "还没有消息",
    emptyHint: (agent: string, workspace: string, device: string) =>
      `在下方描述任务，${agent} 会在${device === "" ? "" : ` ${device} 的`} ${workspace} 中完成。输入 @ 可引用文件。`,
    emptyWithoutAgent: "给项目成员留言，或添加智能体开始工作。",
    earlier: "加载更早内容",
    earlierSteps: (n: number) => `显示之前的 ${n.toLocaleString("en")} 个步骤`,
    laterSteps: (n: number) => `显示之后的 ${n.toLocaleString("en")} 个步骤`,
    newBelow: "下方有新内容",
    toEnd: "跳到最新",
    verbs: verbs.zh,
    actionStates: states.zh,
    explored: ({ reads, searches }: WorkCounts) =>
      reads === 0
        ? `搜索了 ${searches} 次`
        : `查看了 ${reads} 个文件${searches === 0 ? "" : `，搜索了 ${searches} 次`}`,
    exploring: "正在查看…",
    worked: (time: string) => `用时 ${time}`,
    work: "过程",
    counts: ({ commands, edits, others, reads, searches }: WorkCounts): ReadonlyArray<string> => [
      ...someZh(reads, "读取"),
      ...someZh(searches, "搜索"),
      ...someZh(edits, "编辑"),
      ...someZh(commands, "命令"),
      ...someZh(others, "其他操作")
    ],
    files: (n: number) => `更改了 ${n} 个文件`,
    filesToDecide: (n: number) => `${n.toLocaleString("en")} 个文件待决定`,
    undoTurn: "撤销本轮…",
    undoDecision: "撤销决定…",
    showChanges: "查看更改",
    transcript: "由对话记录继续",
    transcriptHint: "智能体程序不记得之前的轮次，已以文本形式提供给它。",
    lastHeard: (text: string) => `最后收到：${text}`,
    childSteps: (n: number) => `${n.toLocaleString("en")} 个步骤`,
    earlierHidden: (n: number) => `之前的 ${n.toLocaleString("en")} 个步骤请查看日志。`,
    steps: (done: number, all: number) => `步骤：已完成 ${done}/${all}`,
    stepOf: (at: number, of: number, text: string) => `第 ${at}/${of} 步：${text}`,
    allSteps: (n: number) => `显示全部 ${n} 个步骤`,
    stepStates: {
      pending: "（未开始）",
      in_progress: "（进行中）",
      completed: "（已完成）",
      cancelled: "（已放弃）"
    },
    inBackground: "后台：",
    workStates: {
      running: "运行中",
      completed: "完成",
      failed: "失败",
      stopped: "已停止",
      unfinished: "未完成"
    },
    background: (n: number) => `后台工作中：${n} 项`,
    moreWork: (n: number) => `另有 ${n} 项`,
    finish: "结束",
    finishAsk: "结束…",
    finishHint: "停止这些命令，并完成运行。",
    finishTitle: (n: number) => `要停止后台的 ${n} 项工作吗？`,
    finishText: "运行将立即完成。尚未做完的工作不会继续，智能体也不会再汇报结果。",
    stopHint: "取消运行。",
    enlarge: (name: string) => `放大 ${name}`,
    loadImage: (name: string, size: string) => `加载 ${name}（${size}）`,
    loadSound: (name: string) => `加载录音：${name}`,
    download: "下载",
    imageOf: (nth: number, all: number) => `图片 ${nth}/${all}`,
    imageStep: (nth: number, all: number, text: string) => `第 ${nth}/${all} 步：${text}`,
    imageBefore: "上一张图片",
    imageAfter: "下一张图片",
    noContent: (name: string) => `${name}：内容不可用。`,
    resultKinds: { text: "文本", image: "图片", audio: "录音", resource: "文件" },
    working: "正在工作…",
    thinking: "正在思考…",
    writing: "正在输入…",
    paused: "已暂停",
    pause: "暂停",
    pauseHint: "冻结智能体的程序，计时一并暂停。",
    resume: "继续",
    resumeHint: "让智能体的程序继续运行。",
    starting: "正在启动…",
    waitsForDevice: (device: string) => `等待${device === "" ? "设备" : ` ${device}`}`,
    states: {
      working: "进行中",
      background: "后台工作中",
      paused: "已暂停",
      waiting: "等您处理",
      others: "等其他成员处理",
      queued: "等待中",
      offline: "设备离线",
      completed: "已完成",
      failed: "失败",
      cancelled: "已停止",
      idle: ""
    },
    stopped: "已停止。",
    failed: "智能体失败了。",
    details: "详情",
    tryAgain: "重试",
    showLog: "查看日志",
    failureAdvice: {
      budget_exceeded: "请在消息框下方设置更大的预算后继续，或将任务拆小。",
      cost_unknown: "请在消息框下方设置其他限额后重试。",
      run_timeout: "已达到时间上限。请重试，或将任务拆小。",
      permission_denied: "您的角色或设备策略不允许此操作。",
      approval_rejected: "请求被拒绝后，智能体已放弃。请告诉它该怎么做。",
      other: "请重试，或告诉智能体该怎么做。"
    },
    lastLines: "程序的最后输出",
    confinedAdvice: {
      temporary:
        "受限运行有自己的 /tmp，看不到设备上 /tmp 中的文件。请将程序所需的文件移到其自身的文件夹或工作区。",
      hidden:
        "受限运行只能看到工作区、系统文件夹，以及程序和工具链所在的文件夹。程序缺少的文件可能在其他位置。",
      refused: "此运行的限制可能不允许该操作。在设备上运行 corral doctor --probe 可查看被拒绝的操作。",
      network: "受限运行只能访问已声明、已允许或已批准的主机。设备的 CORRAL_EDGE_RUN_HOSTS 可列出更多主机。",
      unknown: "此运行受到限制。如果该程序在 Corral 之外能启动，则它所需的某些内容可能被隐藏了。"
    },
    stop: "停止",
    more: "更多",
    changes: "更改",
    panelFiles: "文件",
    log: "日志",
    panel: "会话详情",
    search: "搜索与命令",
    close: "关闭",
    project: "查看项目",
    rename: "重命名",
    archive: "归档",
    reopen: "重新打开",
    fork: "复制为新会话",
    exportMarkdown: "导出为 Markdown",
    exportJson: "导出为 JSON",
    copyId: "复制 ID",
    agents: "智能体",
    offline: (device: string) => `${device === "" ? "设备" : `${device} `}已离线。`,
    offlineSince: (device: string, time: string) => `${device === "" ? "设备" : device} 自 ${time} 起离线。`,
    silent: "设备离线",
    silentSince: (time: string) => `设备自 ${time} 起离线`,
    offlineWork: "运行可能仍在那里继续。",
    offlineWaits: "消息会在此等待。",
    devices: "查看设备",
    announced: {
      working: "智能体正在工作。",
      background: "智能体正在后台工作。",
      paused: "智能体已暂停。",
      waiting: "智能体需要您处理。",
      others: "智能体正在等其他成员处理。",
      completed: "智能体已完成。",
      failed: "智能体失败了。",
      cancelled: "智能体已停止。"
    }
  }
)
