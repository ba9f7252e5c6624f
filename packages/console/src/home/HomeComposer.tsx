/** Composer of a new session: sending creates the session with its agent, and opens it. */
import { type Ref, useState } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { AttachButton } from "../composer/AttachButton.tsx"
import { Draft, useStoredDraft } from "../composer/Draft.ts"
import { DropArea } from "../composer/DropArea.tsx"
import { FileChips } from "../composer/FileChips.tsx"
import { MessageField } from "../composer/MessageField.tsx"
import { SendButton } from "../composer/SendButton.tsx"
import type { MentionPlace } from "../composer/useFoundFiles.ts"
import { composerMessages } from "../composer/messages.ts"
import type { StartChoice } from "../start/useStartChoice.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useMedia } from "../ui/useMedia.ts"
import { HomeChips } from "./HomeChips.tsx"
import { type StartSettings, useStartSession } from "./useStartSession.ts"
import { homeMessages } from "./messages.ts"
import "./home.css"

interface Props {
  readonly choice: StartChoice
  readonly fieldRef?: Ref<HTMLTextAreaElement>
}

/** Why nothing can be sent, or what happens when it is, and whether it can be sent. */
const useStartHint = ({ agent, mode, place, project }: StartChoice): readonly [string, boolean] => {
  const home = useMessages(homeMessages)
  const composer = useMessages(composerMessages)
  if (project === undefined) return [home.noProject, false]
  if (place === undefined) return [home.noPlace(project.name), false]
  if (agent === undefined) return [home.noAgentHint(place.target.name), false]
  if (mode === undefined) return [home.noModes, false]
  if (place.target.state !== "online") return [composer.waitsFor(place.target.name), true]
  return ["", true]
}

export const HomeComposer = ({ choice, fieldRef }: Props) => {
  const messages = useMessages(composerMessages)
  const draft = Draft.of(`${useCurrentUser().user.id}.home`)
  useStoredDraft(draft)
  const [settings, setSettings] = useState<StartSettings>({ model: undefined, isIsolated: false })
  const start = useStartSession(draft, choice, settings)
  const [hint, maySend] = useStartHint(choice)
  const isTouch = useMedia("(pointer: coarse)")
  const { place, project } = choice
  const mentionPlace: MentionPlace | "loading" | undefined =
    place === undefined || project === undefined
      ? choice.isLoading
        ? "loading"
        : undefined
      : {
          projectId: project.id,
          targetId: place.target.id,
          workspace: place.workspace.id,
          targetName: place.target.name,
          isOnline: place.target.state === "online"
        }
  const submit = () => {
    if (maySend && draft.readiness() === "ready" && !start.isPending) start.mutate()
  }
  return (
    <DropArea draft={draft} hint={hint} keys={isTouch ? "" : messages.enterSends} onSubmit={submit}>
      <FileChips draft={draft} />
      <MessageField
        draft={draft}
        placeholder={messages.ask}
        place={mentionPlace}
        {...(fieldRef === undefined ? {} : { fieldRef })}
        onSubmit={submit}
      />
      <RefusalNote error={start.error ?? choice.error} />
      <div className="composer-foot">
        <div className="composer-chips">
          <AttachButton draft={draft} />
          <HomeChips choice={choice} settings={settings} onSettings={setSettings} />
        </div>
        <SendButton draft={draft} isBusy={start.isPending || !maySend} label={messages.send} />
      </div>
    </DropArea>
  )
}
