/**
 * Sentences of errors in Chinese: of each code, and of the fixed sentences that Hub and Edge use for a cause. In English the error has them itself.
 *
 * *Does not:* translate what a program says. It is shown as it is, after the sentence of its code.
 */
import type { CorralError } from "@corral/client/http/CorralError"

export type ErrorSentenceCode = CorralError["code"]

export const chineseByCode: { readonly [C in ErrorSentenceCode]: string } = {
  invalid_agent_id: "没有此 ID 对应的智能体。",
  unauthorized: "请先登录。",
  unauthorized_target: "您无权使用该设备。",
  workspace_outside_allowlist: "该工作区不在此 Edge 的允许列表中。",
  permission_denied: "您无权执行此操作。",
  approval_rejected: "该操作未获批准。",
  binding_required: "请先将聊天账号与您的登录账号关联。",
  not_found: "该资源不存在，或您无权查看。",
  method_not_allowed: "该地址不支持此方法。",
  conflict: "内容已被他人更改。",
  run_cancelled: "此次运行已取消。",
  run_not_cancellable: "此次运行已经结束。",
  approval_already_resolved: "该请求已有人处理。",
  input_already_resolved: "该问题已不再等待回答。",
  changes_unknown: "无法确定此次运行的更改。",
  changes_outdated: "这些更改与您看到的已不一致，请重新加载。",
  merge_conflict: "工作区的同一位置已有其他更改。",
  run_active: "仍有运行在处理这些更改，请等待其结束。",
  idempotency_conflict: "该幂等键已用于另一个请求。",
  idempotency_in_flight: "使用该幂等键的请求仍在处理中。",
  approval_expired: "该请求已过期。",
  input_expired: "该问题已过期。",
  payload_too_large: "请求内容过大。",
  unsupported_media_type: "不支持该内容类型。",
  schema_validation_failed: "部分字段无效。",
  rate_limited: "请求过于频繁，请稍后再试。",
  internal: "服务端出现错误。",
  runtime_unavailable: "智能体程序缺失、未登录或运行出错。",
  target_offline: "设备离线。",
  overloaded: "服务繁忙，请稍后再试。",
  budget_exceeded: "预算已用完。",
  run_timeout: "运行超时。",
  work_unfinished: "后台工作完成之前，运行已经结束。",
  unreachable: "无法连接到 Hub。",
  replay_gap: "部分事件已不可用，请重新加载页面。",
  invalid_response: "Hub 的响应无法识别，请更新 Corral。"
}

export const chineseByMessage: ReadonlyMap<string, string> = new Map([
  // Candidates.
  [
    "This agent is closed: another candidate was continued. Its changes can still be decided.",
    "此智能体已关闭：已继续另一个候选。它的更改仍可决定。"
  ],
  ["The session has no such agent, or it is closed.", "会话中没有此智能体，或它已关闭。"],
  ["Another candidate of this group is continued.", "此组已继续另一个候选。"],
  ["The agent of this candidate was removed from the session.", "此候选的智能体已从会话中移除。"],
  // Decisions about changes.
  ["This file has no undecided changes.", "此文件没有待决定的更改。"],
  [
    "The run wrote into the workspace itself. Its changes can be undone only.",
    "此次运行直接写入了工作区，其更改只能撤销。"
  ],
  ["This change set has no such decision.", "这些更改没有此项决定。"],
  ["The Edge can't write now: its disk may be full.", "Edge 暂时无法写入，磁盘可能已满。"],
  ["The Edge may not write these files.", "Edge 没有写入这些文件的权限。"],
  ["An earlier decision could not be finished. Restart the Edge.", "之前的一项决定未能完成，请重启 Edge。"],
  [
    "Some files could not be compared. Name the files that you decide.",
    "部分文件未能比较，请逐个选择要决定的文件。"
  ],
  [
    "The Edge of this device is too old to decide about changes from here. Update it.",
    "此设备上的 Edge 版本过旧，无法在此决定更改，请升级。"
  ],
  // Preferences.
  ["Your preferences were changed in the meantime.", "您的偏好设置已在其他地方更改。"],
  ["These preferences are too large.", "偏好设置的内容过大。"],
  // Runs and their devices.
  ["The run is live.", "此次运行仍在进行中。"],
  ["The run has ended.", "此次运行已结束。"],
  ["Artifacts are published while the run is live.", "只有在运行进行期间才能发布产物。"],
  ["The path is not a file.", "该路径不是文件。"],
  ["The file is larger than 50 MiB.", "文件大于 50 MiB。"],
  ["This join token is unknown.", "未知的加入令牌。"],
  ["The run failed.", "此次运行失败。"],
  ["The run failed; its error is in the run.", "此次运行失败，错误信息见运行详情。"],
  ["The run takes no further input.", "此次运行不再接受输入。"],
  ["The run's token budget is used up.", "此次运行的 token 预算已用完。"],
  ["The run's turn budget is used up.", "此次运行的轮数预算已用完。"],
  ["The run's time budget is used up.", "此次运行的时间预算已用完。"],
  ["The run's cost budget is used up.", "此次运行的费用预算已用完。"],
  [
    "The project's limit for today is used up, or reserved by runs in progress.",
    "该项目今天的限额已用完，或已被进行中的运行预留。"
  ],
  [
    "Your limit in this project for today is used up, or reserved by your runs in progress.",
    "您今天在该项目中的限额已用完，或已被您进行中的运行预留。"
  ],
  [
    "The project's limit for today has less left than the budget of this run.",
    "该项目今天剩余的限额低于此次运行的预算。"
  ],
  [
    "Your limit in this project for today has less left than the budget of this run.",
    "您今天在该项目中剩余的限额低于此次运行的预算。"
  ],
  [
    "The agent is paid by a subscription, so the run has no cost that a budget can limit. Limit tokens.",
    "智能体按订阅付费，此次运行没有可限制的费用，请改为限制 token。"
  ],
  [
    "A limit of the project needs it: a run without a budget reserves it. Remove the limit first.",
    "项目的限额需要此项：没有自身预算的运行会预留它。请先移除该限额。"
  ],
  ["There is no such run.", "没有这次运行。"],
  ["This id is another run's.", "该 ID 属于另一次运行。"],
  ["Another run is continuing this conversation.", "另一次运行正在继续这段对话。"],
  ["The Edge ended while the run was under way.", "运行期间 Edge 已停止。"],
  [
    "The Edge's store did not take what the run said: the run was stopped.",
    "Edge 未能保存运行的输出，运行已停止。"
  ],
  ["This Edge does not offer its agent.", "此 Edge 未提供该智能体。"],
  [
    "The Edge's policy does not let a run set these environment variables.",
    "Edge 的策略不允许运行设置这些环境变量。"
  ],
  ["The run works in another workspace.", "此次运行使用的是另一个工作区。"],
  ["Runs of this project are still in progress. Cancel them first.", "该项目仍有运行正在进行，请先取消。"],
  // Worktrees and repositories.
  ["This run has no separate worktree.", "此次运行没有单独的工作树。"],
  ["This run has no worktree.", "此次运行没有工作树。"],
  ["A run is using the worktree.", "该工作树正被一次运行使用。"],
  ["The run's worktree could not be created.", "无法为此次运行创建工作树。"],
  [
    "The commits of the worktree can't be read. Inspect its folder.",
    "无法读取该工作树的提交，请检查其文件夹。"
  ],
  ["The worktree was removed.", "该工作树已删除。"],
  [
    "The worktree holds work that is nowhere else. Nothing was removed.",
    "该工作树中有别处没有的内容，未删除任何内容。"
  ],
  ["The worktree could not be removed. Nothing in it is lost.", "无法删除该工作树，其中的内容没有丢失。"],
  // Layers.
  [
    "The Edge of this device is too old for layers. Update it.",
    "此设备的 Edge 版本过旧，不支持叠加层，请更新。"
  ],
  ["This run has no layer.", "此次运行没有叠加层。"],
  ["A run is using the layer.", "该叠加层正被一次运行使用。"],
  ["The layer was removed.", "该叠加层已删除。"],
  ["The layer could not be removed.", "无法删除该叠加层。"],
  [
    "The layer has changes that were neither accepted nor rejected. Nothing was removed.",
    "该叠加层中有尚未接受或拒绝的更改，未删除任何内容。"
  ],
  [
    "The disk with the Edge's files has too little free space for a layer. Free 256 MiB.",
    "Edge 文件所在的磁盘空间不足，无法创建叠加层，请至少腾出 256 MiB。"
  ],
  [
    "A run with full access is not confined, so it cannot be kept in a layer. Choose another mode or another isolation.",
    "拥有完全权限的运行不受限制，无法置于叠加层中。请选择其他模式或其他隔离方式。"
  ],
  [
    "This Edge cannot keep a run in a layer: it does not confine runs with bubblewrap. Choose another isolation.",
    "此 Edge 未使用 bubblewrap 限制运行，无法将运行置于叠加层中。请选择其他隔离方式。"
  ],
  ["This run changed nothing in the repository.", "此次运行没有更改仓库。"],
  ["The diff is too large to be sent.", "更改过大，无法发送。"],
  ["The answer is too large to be sent.", "回答过大，无法发送。"],
  ["The list is too long.", "列表过长。"],
  // Previews.
  ["That port is the Edge's own.", "该端口由 Edge 自身使用。"],
  ["The run has ended, and its ports with it.", "运行已结束，其端口也已关闭。"],
  ["The server behind this preview did not answer.", "该预览背后的服务没有响应。"],
  [
    "The server behind this preview redirects to another address, which a preview does not follow.",
    "该预览背后的服务重定向到了其他地址，预览不会跟随。"
  ],
  ["The server behind this preview broke off its answer.", "该预览背后的服务中断了响应。"],
  ["The server behind this preview takes no WebSocket there.", "该预览背后的服务在此地址不支持 WebSocket。"],
  ["Too many previews are open. Close one first.", "打开的预览过多，请先关闭一个。"],
  ["The preview is closed.", "该预览已关闭。"],
  // Messages and files.
  ["Many messages with attachments wait on this device.", "该设备上有许多带附件的消息在等待。"],
  ["The Hub sent more of an attachment than was requested.", "Hub 发送的附件内容超出了请求的范围。"],
  ["An attachment of the message is no longer available.", "消息的一个附件已不可用。"],
  ["A file can have at most 20 MiB.", "文件最大 20 MiB。"],
  [
    "The Edge of this device is too old for attachments. Update it.",
    "该设备的 Edge 版本过旧，不支持附件，请更新。"
  ],
  [
    "The Edge of this device is too old to limit tokens, turns or cost. Update it.",
    "该设备的 Edge 版本过旧，无法限制 token、轮数或费用，请更新。"
  ],
  [
    "The Edge of this device is too old to search for files. Update it.",
    "该设备的 Edge 版本过旧，不支持搜索文件，请更新。"
  ],
  [
    "The Edge of this device is too old to take answers to questions. Update it.",
    "该设备的 Edge 版本过旧，无法接收对问题的回答，请更新。"
  ],
  ["This message is the prompt of a task and can't be changed.", "这条消息是任务的提示，无法更改。"],
  ["Only a failed message can be sent again.", "只有发送失败的消息才能重新发送。"],
  ["This message is the prompt of a task. Create the task again.", "这条消息是任务的提示，请重新创建任务。"],
  ["This message is no longer pending.", "这条消息已不在等待中。"],
  ["This message is being delivered. Cancel its run instead.", "这条消息正在送达，请改为取消其运行。"],
  ["The agent was removed from the session.", "该智能体已从会话中移除。"],
  ["The message expired before a run received it.", "消息在运行收到之前已过期。"],
  ["The message could not be delivered.", "消息无法送达。"],
  [
    "This agent takes no input during a run. Send the message as the next turn.",
    "该智能体在运行期间不接受输入，请在下一轮发送。"
  ],
  ["Messages from a chat run at most in the mode ask.", "来自聊天的消息最多以“询问”模式运行。"],
  // Sessions, projects and devices.
  ["A closed session can't be reopened.", "已关闭的会话无法重新打开。"],
  ["The session has no such agent.", "会话中没有该智能体。"],
  ["The target has not reported this workspace.", "该设备尚未报告此工作区。"],
  ["This workspace is already linked.", "该工作区已关联。"],
  [
    "A project needs an owner. Make another member owner first.",
    "项目需要一位所有者，请先将其他成员设为所有者。"
  ],
  ["No user with this id.", "没有此 ID 对应的用户。"],
  ["This user is already a project member.", "该用户已是项目成员。"],
  ["This user is not a project member.", "该用户不是项目成员。"],
  ["Browsers can't open a link.", "浏览器无法打开设备连接。"],
  ["You can't change a revoked device.", "无法更改已吊销的设备。"],
  [
    "The configuration file of the Edge defines this id. Change it there.",
    "此 ID 由 Edge 的配置文件定义，请在该文件中更改。"
  ],
  [
    "An Edge stores up to 100 presets, 1 MiB in total. Remove one first.",
    "一个 Edge 最多保存 100 个配置，总共 1 MiB。请先移除一个。"
  ],
  [
    "From a Hub, only profiles with a label, an adapter, a mode below full_access and a model can be set. Set others on the device.",
    "通过 Hub 只能设置名称、适配器、完全访问以下的模式和模型。其他设置请在设备上进行。"
  ],
  [
    "A run of this agent is in progress. Cancel it or wait for its end, then try again.",
    "该智能体正在运行。请取消运行或等它结束，然后重试。"
  ],
  [
    "The Edge of this device is too old to manage profiles from here. Update it.",
    "该设备的 Edge 版本过旧，无法在此管理智能体配置。请更新它。"
  ],
  [
    "This Edge reads the output of its program with another adapter.",
    "此 Edge 使用另一个适配器读取其程序的输出。"
  ],
  ["An undo can't be reversed.", "撤销操作不能再撤销。"],
  ["This decision is already reversed.", "该决定已被撤销。"],
  ["This join token was used or has expired.", "该加入令牌已被使用或已过期。"],
  ["A device with this key is already registered.", "使用此密钥的设备已注册。"],
  ["Open the link in your browser and confirm it there.", "请在浏览器中打开该链接并在那里确认。"],
  ["Do this in your browser, where you are signed in.", "请在您已登录的浏览器中进行此操作。"],
  [
    "Sign in again to continue: your last sign-in is more than 15 minutes old.",
    "请重新登录以继续：您上次登录已超过 15 分钟。"
  ],
  [
    "The database did not respond. Check that it is running and reachable.",
    "数据库没有响应，请检查其是否正在运行且可以访问。"
  ]
])
