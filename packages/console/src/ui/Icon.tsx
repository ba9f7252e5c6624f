/**
 * Corral's mark, and icons by what they mean here. Icons are decorative: the text next to them, or the label of their button, names the action.
 */
import {
  Archive,
  ArrowDown,
  ArrowLeft,
  ArrowUp,
  AtSign,
  Bell,
  Bot,
  Brain,
  ChartColumn,
  Check,
  ChevronDown,
  ChevronRight,
  CircleAlert,
  CircleUser,
  Clock,
  Columns2,
  Copy,
  Download,
  Ellipsis,
  ExternalLink,
  Eye,
  File,
  FilePen,
  Folder,
  FolderOpen,
  FolderTree,
  GitCompare,
  Globe,
  House,
  Image,
  ListTree,
  type LucideIcon,
  Menu,
  MessageSquare,
  MessageSquarePlus,
  Monitor,
  Paperclip,
  Pause,
  Pencil,
  Pin,
  Play,
  Plus,
  RotateCw,
  ScrollText,
  Search,
  Settings,
  ShieldCheck,
  SlidersHorizontal,
  Square,
  SquareKanban,
  Terminal,
  Trash2,
  TriangleAlert,
  Undo2,
  UnfoldVertical,
  WifiOff,
  X
} from "lucide-react"

const drawings = {
  account: CircleUser,
  agent: Bot,
  approvals: ShieldCheck,
  archive: Archive,
  artifact: Download,
  attach: Paperclip,
  audit: ScrollText,
  back: ArrowLeft,
  bell: Bell,
  board: SquareKanban,
  changes: GitCompare,
  check: Check,
  clock: Clock,
  close: X,
  command: Terminal,
  comment: MessageSquarePlus,
  copy: Copy,
  devices: Monitor,
  down: ArrowDown,
  edit: Pencil,
  error: CircleAlert,
  file: File,
  folder: Folder,
  folderOpen: FolderOpen,
  fold: ChevronDown,
  home: House,
  image: Image,
  log: ListTree,
  mention: AtSign,
  menu: Menu,
  message: MessageSquare,
  more: Ellipsis,
  network: Globe,
  offline: WifiOff,
  open: ExternalLink,
  options: SlidersHorizontal,
  pause: Pause,
  pin: Pin,
  plus: Plus,
  projects: Folder,
  read: Eye,
  reasoning: Brain,
  refresh: RotateCw,
  remove: Trash2,
  resume: Play,
  runs: Play,
  search: Search,
  send: ArrowUp,
  settings: Settings,
  split: Columns2,
  stop: Square,
  tree: FolderTree,
  undo: Undo2,
  unfold: ChevronRight,
  usage: ChartColumn,
  warning: TriangleAlert,
  widen: UnfoldVertical,
  write: FilePen
} as const satisfies Record<string, LucideIcon>

export type IconName = keyof typeof drawings

interface Props {
  readonly name: IconName
  /** Width and height in CSS pixels. */
  readonly size?: number
}

/** The drawing of an icon. */
export const Icon = ({ name, size = 16 }: Props) => {
  const Drawing = drawings[name]
  const fill = name === "stop" || name === "pause" || name === "resume" ? "currentColor" : "none"
  return <Drawing className="icon" size={size} strokeWidth={1.75} fill={fill} aria-hidden="true" />
}

/** Corral's mark. */
export const Mark = () => (
  <svg className="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
    <rect width="32" height="32" rx="7" fill="currentColor" />
    <path d="M7 9v15M16 7v17M25 9v15M5 13h22M5 19h22" className="mark-bars" />
  </svg>
)
